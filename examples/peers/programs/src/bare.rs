//! The work under the system's allocator. heaptrack and valgrind run this program too.

fn main() {
    peers_work::prepare(peers_work::Readers::PLAIN)
        .run()
        .print();
}
