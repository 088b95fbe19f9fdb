//! No copy is made where it could harm the program, or where nobody could read it.

use crate::program::{Programs, Run, churn, pause};
use crate::reader::{Reader, end, has_ended};
use heapglass_recorder::{NoSnapshot, snapshot};
use tracking_alloc::Recorder;
use tracking_alloc_recording::{Recording, snapshot_status, state};

pub(crate) const PROGRAMS: Programs = &[
    ("alone", alone),
    ("sandbox", sandbox),
    ("undumpable", undumpable),
    ("finished", finished),
];

/// Takes a snapshot without a reader.
fn alone() {
    assert_eq!(snapshot("alone"), Err(NoSnapshot::NoReader));
}

#[test]
fn without_a_reader_there_is_a_mark_and_no_copy() {
    for reader in [None, Some(i32::MAX as u32)] {
        let mut run = Run::start("alone", reader);
        run.succeeds();
        let recording = Recording::open(&run.path).expect("a recording");
        assert_ne!(recording.header.checksum, 0);
        let mark = recording.marks[0].name;
        assert_eq!(recording.string(mark).as_deref(), Some("alone"));
        let exchange = Reader::attach(&run.path).exchange();
        assert_eq!(exchange.copy, 0);
        let refused = reader.map_or(0, |_| snapshot_status::NO_READER);
        assert_eq!(exchange.status, refused);
    }
}

/// Installs a filter that allows everything, as a sandbox would install another one.
fn sandbox() {
    const ALLOW: libc::sock_filter = libc::sock_filter {
        code: (libc::BPF_RET | libc::BPF_K) as u16,
        jt: 0,
        jf: 0,
        k: libc::SECCOMP_RET_ALLOW,
    };
    let mut filter = [ALLOW];
    let program = libc::sock_fprog {
        len: 1,
        filter: filter.as_mut_ptr(),
    };
    // SAFETY: a program of one instruction.
    unsafe {
        assert_eq!(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
        let mode = libc::SECCOMP_MODE_FILTER;
        assert_eq!(
            libc::prctl(libc::PR_SET_SECCOMP, mode, &raw const program),
            0
        );
    }
    assert_eq!(snapshot("sandbox"), Err(NoSnapshot::Sandbox));
    pause();
    churn();
    pause();
    assert_eq!(snapshot("forced"), Ok(()));
    pause();
}

#[test]
fn in_a_sandbox_a_copy_must_be_forced() {
    let mut run = Run::start("sandbox", Some(std::process::id()));
    run.until_paused();
    let mut reader = Reader::attach(&run.path);
    assert_eq!(reader.exchange().status, snapshot_status::SANDBOX);
    run.go_on();
    let answer = reader.request();
    assert_eq!((answer.status, answer.copy), (snapshot_status::SANDBOX, 0));
    run.until_paused();
    reader.set_reader(std::process::id(), true);
    run.go_on();
    let answer = reader.answer();
    assert_eq!(answer.status, snapshot_status::TAKEN);
    assert!(!has_ended(answer.copy));
    end(answer.copy);
    run.until_paused();
    run.go_on();
    run.succeeds();
}

/// Takes a snapshot of a process that may not be read.
fn undumpable() {
    // SAFETY: plain numbers.
    unsafe { libc::prctl(libc::PR_SET_DUMPABLE, 0, 0, 0, 0) };
    assert_eq!(snapshot("undumpable"), Err(NoSnapshot::NotDumpable));
}

#[test]
fn a_process_that_may_not_be_read_is_not_copied() {
    let mut run = Run::start("undumpable", Some(std::process::id()));
    run.succeeds();
    let exchange = Reader::attach(&run.path).exchange();
    assert_eq!(exchange.status, snapshot_status::NOT_DUMPABLE);
}

/// Takes a snapshot after the end of the recording.
fn finished() {
    churn();
    let recorder = Recorder::current().expect("a recording");
    recorder.finish().expect("finished");
    assert_eq!(snapshot("finished"), Err(NoSnapshot::NotRecording));
    churn();
    pause();
}

#[test]
fn a_request_after_the_end_changes_nothing() {
    let mut run = Run::start("finished", Some(std::process::id()));
    run.until_paused();
    let reader = Reader::attach(&run.path);
    reader.set_reader(std::process::id(), true);
    let recording = Recording::open(&run.path).expect("its checksum is right");
    assert_eq!(recording.header.state, state::FINISHED);
    assert_ne!(recording.header.checksum, 0);
    run.go_on();
    run.succeeds();
    assert_eq!(reader.exchange().answers, 0);
}
