//! Program files of every kind, made with the C compiler and by changing bytes of others.

use super::*;
use heapglass_limits::Command;
use std::fs;

/// A folder with programs.
struct Programs(tempfile::TempDir);

impl Programs {
    fn new() -> Programs {
        Programs(tempfile::tempdir().expect("a folder"))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Compiles a C program.
    fn c(&self, name: &str, source: &str, flags: &[&str]) -> PathBuf {
        let (from, to) = (self.path("source.c"), self.path(name));
        fs::write(&from, source).expect("written");
        let mut cc = Command::new("cc");
        cc.args(["-O1", "-fno-builtin", "-o"])
            .arg(&to)
            .arg(&from)
            .args(flags);
        let done = cc.status().expect("a C compiler");
        assert!(done.success(), "{name}");
        to
    }

    fn with(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, bytes).expect("written");
        path
    }
}

const PLAIN: &str = "#include <stdlib.h>\nint main(void) { return malloc(8) == 0; }";
/// A malloc of its own that only libraries call.
const EXPORTED: &str = "#include <stddef.h>
    static char place[4096]; static size_t used;
    void *malloc(size_t n) { used += n; return place + used - n; }
    void *calloc(size_t n, size_t m) { return malloc(n * m); }
    void free(void *p) {}
    int main(void) { return 0; }";

fn way(path: &Path) -> Result<Way, Refusal> {
    Executable::of(path).way()
}

#[test]
fn a_dynamic_program_is_preloaded_and_others_are_refused() {
    let programs = Programs::new();
    let plain = programs.c("plain", PLAIN, &[]);
    assert_eq!(way(&plain), Ok(Way::Preload));
    assert_eq!(
        way(&programs.c("static", PLAIN, &["-static"])),
        Err(Refusal::Static)
    );
    let bytes = fs::read(&plain).expect("a program");
    let changed = |name: &str, at: usize, new: &[u8]| {
        let mut bytes = bytes.clone();
        bytes[at..at + new.len()].copy_from_slice(new);
        way(&programs.with(name, &bytes))
    };
    assert_eq!(changed("bits", 4, &[1]), Err(Refusal::ThirtyTwoBit));
    assert_eq!(changed("machine", 18, &[8, 0]), Err(Refusal::OtherMachine));
    let loader = memchr::memmem::find(&bytes, b"/ld-linux").expect("a loader");
    assert_eq!(
        changed("musl", loader, b"/ld-musl-"),
        Err(Refusal::OtherLibc)
    );
    // The name of a section becomes Go's.
    let name = memchr::memmem::find(&bytes, b".note.gnu.build-id").expect("a name");
    assert_eq!(changed("go", name, b".note.go.buildid\0"), Err(Refusal::Go));
    assert_eq!(changed("cut", 32, &[255; 8]), Err(Refusal::Unreadable));
    let raised = programs.with("raised", &bytes);
    fs::set_permissions(&raised, fs::Permissions::from_mode(0o4755)).expect("set");
    assert_eq!(way(&raised), Err(Refusal::RaisedPrivileges));
}

#[test]
fn a_malloc_of_its_own_is_refused_if_the_program_calls_it() {
    let programs = Programs::new();
    let exported = programs.c("exported", EXPORTED, &["-rdynamic"]);
    assert_eq!(way(&exported), Ok(Way::Libraries));
    let called = EXPORTED.replace("return 0;", "return malloc(8) == 0;");
    let called = programs.c("called", &called, &["-rdynamic"]);
    assert_eq!(way(&called), Err(Refusal::OwnMalloc));
}

#[test]
fn a_program_with_the_note_of_tracking_alloc_records_itself_however_it_is_built() {
    let programs = Programs::new();
    let note = |name: &str| {
        format!(
            "__asm__(\".pushsection .note.heapglass, \\\"a\\\", %note\\n.p2align 2\\n\"
             \".long 10, 4, 1\\n.asciz \\\"{name}\\\"\\n.p2align 2\\n.long 1\\n.popsection\");\n{PLAIN}"
        )
    };
    for flags in [&[][..], &["-static"], &["-s"]] {
        let linked = programs.c("linked", &note("heapglass"), flags);
        assert_eq!(way(&linked), Ok(Way::Linked), "{flags:?}");
    }
    let other = programs.c("other", &note("heapgloss"), &[]);
    assert_eq!(way(&other), Ok(Way::Preload));
    // The preloaded library records a program that only knows the variable's name.
    let source = format!("const char *name = \"HEAPGLASS_OUT\";\n{PLAIN}");
    assert_eq!(way(&programs.c("named", &source, &[])), Ok(Way::Preload));
    assert!(Executable::of(&programs.with("foreign", b"MZ HEAPGLASS_OUT")).is_linked());
}

#[test]
fn an_allocator_under_other_names_is_named() {
    let programs = Programs::new();
    let source = format!("const char *text = \"<jemalloc>: \";\n{PLAIN}");
    let inside = programs.c("inside", &source, &[]);
    assert_eq!(hidden_allocator(&inside), Some("jemalloc"));
    assert_eq!(hidden_allocator(&programs.c("plain", PLAIN, &[])), None);
}

#[test]
fn scripts_lead_to_their_interpreter() {
    let programs = Programs::new();
    let plain = programs.c("plain", PLAIN, &[]);
    let first = programs.with("first", format!("#! {} -x\n", plain.display()).as_bytes());
    let second = programs.with("second", format!("#!{}\n", first.display()).as_bytes());
    assert_eq!(Executable::of(&second), Executable::Script(first));
    assert_eq!(Executable::interpreted(&second).way(), Ok(Way::Preload));
    let itself = programs.path("itself");
    fs::write(&itself, format!("#!{}\n", itself.display())).expect("written");
    assert_eq!(
        Executable::interpreted(&itself).way(),
        Err(Refusal::Unreadable)
    );
    for (bytes, expected) in [
        (&b"#!"[..], Refusal::Unreadable),
        (b"HEAPGLASS_OUT", Refusal::Unreadable),
        (b"", Refusal::Unreadable),
        (b"MZ HEAPGLASS_OUT", Refusal::NotLinux),
        (b"\x7fELF", Refusal::ThirtyTwoBit),
    ] {
        assert_eq!(
            Executable::interpreted(&programs.with("odd", bytes)).way(),
            Err(expected)
        );
    }
}

#[test]
fn whatever_a_file_says_it_is_read_without_a_panic() {
    let programs = Programs::new();
    let bytes = fs::read(programs.c("exported", EXPORTED, &["-rdynamic"])).expect("a program");
    let mut state = 1_u64;
    for _ in 0..300 {
        let mut bytes = bytes.clone();
        for _ in 0..8 {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            // Headers, symbols and names are at the start of the file, sections at its end.
            let place = (state >> 33) as usize % 2048;
            let at = if state & 1 == 0 {
                place
            } else {
                bytes.len() - 1 - place
            };
            bytes[at] = (state >> 24) as u8;
        }
        let _ = Executable::of(&programs.with("changed", &bytes)).way();
    }
}
