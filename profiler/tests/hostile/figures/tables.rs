//! Checkpoints, scopes and footprints.

use super::made::*;
use heapglass_profiler::profile::ScopeKind;
use tracking_alloc_recording::*;

#[test]
fn checkpoints_are_what_rows_held_when_they_were_taken() {
    let mut parts = empty();
    add_scopes(&mut parts, 2);
    let at = |seen: u64, row: RowValue| RowValue {
        clock: Clock::new(EPOCH, seen),
        ..row
    };
    // The second checkpoint was taken after the last change of the second row.
    let rows = [
        at(2, row(3, (1000, 10), (0, 0), (0, 0))),
        at(1, row(4, (80, 1), (0, 0), (0, 0))),
    ];
    let first = LaneValue {
        checkpoints_len: 2,
        ..lane(b"one\0\0\0\0\0")
    };
    add_lanes(
        &mut parts,
        &[
            (first, &rows, [RowValue::default(); 2]),
            (
                lane(b"two\0\0\0\0\0"),
                &[at(0, row(3, (5, 1), (0, 0), (0, 0)))],
                [RowValue::default(); 2],
            ),
        ],
    );
    let live = |first: i64, second: i64| -> [i64; CHECKPOINT_GROUP] {
        std::array::from_fn(|slot| [second, 9, first].get(slot).copied().unwrap_or(0))
    };
    let checkpoints = [
        CheckpointsValue {
            row: 0,
            live_bytes: live(300, 600),
            live_blocks: live(3, 6),
            ..CheckpointsValue::default()
        },
        CheckpointsValue {
            row: 1,
            live_bytes: live(0, -9),
            live_blocks: live(0, -1),
            ..CheckpointsValue::default()
        },
    ];
    parts.append(table::CHECKPOINTS, 1, &checkpoints);
    let moment = |sequence, time_ns| CheckpointMomentValue {
        sequence,
        time_ns,
        ..CheckpointMomentValue::default()
    };
    let free = CheckpointMomentValue::default();
    let moments = [moment(2, 200), free, moment(1, 100)];
    parts.append(table::CHECKPOINT_MOMENTS, 0, &moments);
    let profile = load(&parts);
    let of: Vec<_> = profile
        .checkpoints()
        .iter()
        .enumerate()
        .map(|(number, checkpoint)| {
            let then = profile.at_checkpoint(number).expect("a checkpoint");
            let live = |scope| {
                let mut sites = then.sites().iter();
                let site = sites.find(|site| site.scope.0 == scope);
                let figures = site.expect("a site").figures.clone();
                (figures.live_bytes, figures.live_blocks)
            };
            (checkpoint.time_ns, live(1), live(2))
        })
        .collect();
    assert_eq!(
        of,
        [
            (100, (300 + 5, 3 + 1), (0, 0)),
            (200, (600 + 5, 6 + 1), (80, 1))
        ]
    );
}

#[test]
fn scopes_and_footprints_are_as_they_were_recorded() {
    let mut parts = empty();
    let kinds = [
        (scope_kind::PHASE, ScopeKind::Phase),
        (scope_kind::FIELD, ScopeKind::Field),
        (scope_kind::ELEMENT, ScopeKind::Element),
        (scope_kind::KEY, ScopeKind::Key),
        (scope_kind::VALUE, ScopeKind::Value),
        (scope_kind::VARIANT, ScopeKind::Variant),
        (scope_kind::INDEX, ScopeKind::Index),
        (scope_kind::BUFFERED, ScopeKind::Buffered),
        (scope_kind::FROM_BUFFER, ScopeKind::FromBuffer),
        (scope_kind::OTHER, ScopeKind::Other),
    ];
    let (name, type_name) = (parts.string("field"), parts.string("app::Type"));
    let flags = [
        0,
        scope_flags::RECURSIVE,
        scope_flags::FOLDED,
        scope_flags::IN_ARENA,
        scope_flags::STAYED_UNKNOWN,
    ];
    let scopes: Vec<ScopeValue> = (0u32..)
        .zip(kinds)
        .map(|(index, (kind, _))| ScopeValue {
            kind,
            parent: index,
            name,
            type_name: if index == 3 { 0 } else { type_name },
            depth: index + 1,
            entered: 2,
            input_bytes: 10,
            records: 1,
            value_bytes: 24,
            flags: flags.get(index as usize).copied().unwrap_or(0),
            stayed_bytes: -5,
        })
        .collect();
    parts.append(table::SCOPES, 0, &scopes);
    parts.header.scopes_len += scopes.len() as u32;
    let visits = |scope, count| VisitsValue {
        scope,
        count,
        ..VisitsValue::default()
    };
    let with_visits = |length| LaneValue {
        visits_len: length,
        ..lane(b"one\0\0\0\0\0")
    };
    add_lanes(
        &mut parts,
        &[
            (with_visits(2), &[], [RowValue::default(); 2]),
            (with_visits(1), &[], [RowValue::default(); 2]),
        ],
    );
    parts.append(table::VISITS, 1, &[visits(1, 100), visits(2, 7)]);
    parts.append(table::VISITS, 2, &[visits(1, 11)]);
    let nodes: Vec<FootprintNodeValue> = (0..4u32)
        .map(|index| FootprintNodeValue {
            // An index among the records of its footprint, which begins with the second record.
            parent: index.saturating_sub(2),
            kind: kinds[index as usize].0,
            name,
            type_name,
            count: 1,
            inline_bytes: 2,
            blocks: 3,
            block_bytes: 4,
            usable_bytes: 5,
            used_bytes: 6,
            shared_blocks: 7,
            shared_bytes: 8,
        })
        .collect();
    parts.append(table::FOOTPRINT_NODES, 0, &nodes);
    parts.header.footprint_nodes_len = 4;
    let footprint = FootprintValue {
        label: name,
        type_name,
        time_ns: 9,
        live_bytes: 10,
        kind: footprint_kind::EXACT,
        first_node: 1,
        nodes: 3,
        folded: 11,
        hidden_values: 12,
        ..FootprintValue::default()
    };
    let estimate = FootprintValue {
        kind: footprint_kind::ESTIMATE,
        nodes: 0,
        ..footprint
    };
    parts.append(table::FOOTPRINTS, 0, &[footprint, estimate]);
    parts.header.footprints_len = 2;
    let profile = load(&parts);
    assert_eq!(profile.scopes().len(), 11);
    let field_type = profile.scopes()[1].value_type.expect("a type");
    assert_eq!(profile.type_name(field_type).full, "app::Type");
    for (index, (scope, (_, kind))) in profile.scopes()[1..].iter().zip(kinds).enumerate() {
        assert_eq!(
            (scope.kind, scope.parent as usize, scope.name.as_str()),
            (kind, index, "field")
        );
        assert_eq!(scope.value_type, (index != 3).then_some(field_type));
        // The word is a time if the scope is a phase.
        let (value_bytes, elapsed_ns) = match kind {
            ScopeKind::Phase => (0, Some(24)),
            _ => (24, None),
        };
        assert_eq!(
            (scope.value_bytes, scope.elapsed_ns),
            (value_bytes, elapsed_ns)
        );
        assert_eq!((scope.input_bytes, scope.records), (10, 1));
        assert_eq!(
            (scope.recursive, scope.folded, scope.in_arena),
            (index == 1, index == 2, index == 3)
        );
        assert_eq!(scope.stayed_bytes, (index != 4).then_some(-5));
        assert_eq!(scope.entered, 2 + [111, 7].get(index).copied().unwrap_or(0));
    }
    let [exact, estimate] = profile.footprints() else {
        panic!("two footprints");
    };
    assert_eq!(
        (
            exact.label.as_str(),
            exact.value_type,
            exact.time_ns,
            exact.live_bytes
        ),
        ("field", Some(field_type), 9, 10)
    );
    assert_eq!(
        (
            exact.estimate,
            exact.folded,
            exact.hidden_values,
            exact.nodes.len()
        ),
        (false, 11, 12, 3)
    );
    assert_eq!((estimate.estimate, estimate.nodes.len()), (true, 0));
    let node = &exact.nodes[2];
    assert_eq!(
        (node.parent, node.kind, node.name.as_str()),
        (1, ScopeKind::Key, "field")
    );
    assert_eq!(
        (
            node.figures.count,
            node.figures.inline_bytes,
            node.figures.blocks,
            node.figures.block_bytes
        ),
        (1, 2, 3, 4)
    );
    assert_eq!(
        (
            node.figures.usable_bytes,
            node.figures.used_bytes,
            node.figures.shared_blocks,
            node.figures.shared_bytes
        ),
        (5, 6, 7, 8)
    );
}
