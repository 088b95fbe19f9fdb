//! Queues and channels that are made of blocks of places: those of crossbeam, and `mpsc`.

use super::{Changes, ContainerType, TypeKind, Walk};

pub(super) static CONTAINERS: &[&ContainerType] = &[&SEG_QUEUE];

const WALK: Walk = Walk::Slot {
    state: "state",
    value: &["value", "msg"],
};

static SEG_QUEUE: ContainerType = ContainerType {
    values: &[
        ("crossbeam_queue::..::Slot", WALK),
        ("crossbeam_channel::..::Slot", WALK),
        ("std::..::Slot", WALK),
    ],
    changes: Changes::Always,
    ..ContainerType::new("crossbeam_queue::seg_queue::SegQueue", TypeKind::Other)
};
