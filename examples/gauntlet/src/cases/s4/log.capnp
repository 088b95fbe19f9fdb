# The log record of case 4.4, and a batch of them for 3.10. log_capnp.rs is generated from this file;
# the README of the gauntlet says how.
@0xe572a9d510ee9253;

# The annotation of capnp's Rust compiler, by its id: the module that contains the generated code.
annotation parentModule @0xabee386cd1450364 (file) :Text;
$parentModule("gauntlet::cases::s4");

struct Logs {
  logs @0 :List(Log);
}

struct Log {
  timestamp @0 :Int64;
  zoneId @1 :UInt32;
  zonePlan @2 :ZonePlan;
  http @3 :Http;
  origin @4 :Origin;
  # 256 codes: 238 is US.
  country @5 :UInt8;
  cacheStatus @6 :CacheStatus;
  serverIp @7 :Text;
  serverName @8 :Text;
  remoteIp @9 :Text;
  bytesDlv @10 :UInt64;
  rayId @11 :Text;
}

struct Http {
  protocol @0 :HttpProtocol;
  status @1 :UInt32;
  hostStatus @2 :UInt32;
  upStatus @3 :UInt32;
  method @4 :HttpMethod;
  contentType @5 :Text;
  userAgent @6 :Text;
  referer @7 :Text;
  requestUri @8 :Text;
}

struct Origin {
  ip @0 :Text;
  port @1 :UInt32;
  hostname @2 :Text;
  protocol @3 :OriginProtocol;
}

enum ZonePlan { unknown @0; free @1; pro @2; biz @3; ent @4; }
enum CacheStatus { unknown @0; miss @1; expired @2; hit @3; }
enum HttpProtocol { unknown @0; http10 @1; http11 @2; }
enum HttpMethod {
  unknown @0; get @1; post @2; delete @3; put @4; head @5; purge @6; options @7; propfind @8; mkcol @9; patch @10;
}
enum OriginProtocol { unknown @0; http @1; https @2; }
