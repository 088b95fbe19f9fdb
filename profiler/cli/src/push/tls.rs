//! Connections that are encrypted, with the certificates that the system trusts.

use std::sync::Arc;

use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

/// Encrypts a connection to a host.
///
/// # Errors
/// Returns an error if the system trusts no certificate, or not that of the server.
pub(super) async fn encrypt(host: &str, stream: TcpStream) -> Result<TlsStream<TcpStream>, String> {
    let found = rustls_native_certs::load_native_certs();
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(found.certs);
    if roots.is_empty() {
        return Err(
            "no certificates that this system trusts; install ca-certificates, or set SSL_CERT_FILE"
                .to_owned(),
        );
    }
    let config = ClientConfig::builder()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = ServerName::try_from(host.to_owned());
    let name = name.map_err(|_| "the name of the server is not valid".to_owned())?;
    let connector = TlsConnector::from(Arc::new(config));
    let encrypted = connector.connect(name, stream).await;
    encrypted.map_err(|error| format!("no encrypted connection: {error}"))
}
