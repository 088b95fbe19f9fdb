//! `Bytes` and `BytesMut` of the crate bytes: views of a buffer that may be shared.
//!
//! A `Vec` asks for the buffer, and stacks name that.

use super::{Changes, ContainerType, TypeKind, Walk};

pub(super) static CONTAINERS: &[&ContainerType] = &[&BYTES, &BYTES_MUT];

/// Its atomic pointer is a detail: nobody changes the bytes.
static BYTES: ContainerType = ContainerType {
    values: &[
        (
            "bytes::bytes::Bytes",
            // What it shows of the buffer, which `data` holds.
            Walk::Bytes {
                pointer: "ptr",
                data: "data",
            },
        ),
        (
            "bytes::..::Shared",
            // The list inside keeps the length that it had when it was shared.
            Walk::Tagged {
                pointer: &["ptr", "buf"],
            },
        ),
    ],
    changes: Changes::Never,
    ..ContainerType::new("bytes::bytes::Bytes", TypeKind::Other)
};

static BYTES_MUT: ContainerType = ContainerType {
    values: &[(
        "bytes::bytes_mut::BytesMut",
        Walk::BytesMut {
            pointer: "ptr",
            length: "len",
            capacity: "cap",
            data: "data",
        },
    )],
    ..ContainerType::new("bytes::bytes_mut::BytesMut", TypeKind::Other)
};
