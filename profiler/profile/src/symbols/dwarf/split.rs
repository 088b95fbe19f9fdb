//! Split debug information: the halves of units kept in a `.dwp` package or in `.dwo` files.
//! Each half must carry the same id as the skeleton in the binary, or it is not used.

use std::path::{Path, PathBuf};

use gimli::{
    DwarfPackage, DwarfPackageSections, DwarfSections, DwoId, EndianSlice, Reader, Section,
    SectionId,
};

use super::super::image::{self, Image};
use super::super::names::{join_path, text};
use super::units::{Index, directory};
use super::{Budget, Slice, is_read};

/// The places where split debug information may be.
#[derive(Clone, Debug, Default)]
pub(in super::super) struct SplitFiles {
    /// `.dwp` packages that may have been made for the binary.
    pub(in super::super) packages: Vec<PathBuf>,
    /// Folders to look for `.dwo` files in, after the place the unit names.
    pub(in super::super) folders: Vec<PathBuf>,
}

/// No more missing files are named than this.
const MAX_MISSING: usize = 4;

/// The files that hold other halves of units.
#[derive(Default)]
pub(super) struct Halves {
    packages: Vec<DwarfPackageSections<Vec<u8>>>,
    /// The loose files by unit.
    loose: Vec<(usize, DwarfSections<Vec<u8>>)>,
    missing: Vec<String>,
}

impl Halves {
    /// Reads the files for those units; without any nothing is opened.
    pub(super) fn load(
        files: &SplitFiles,
        index: &Index<'_>,
        units: &[(usize, DwoId)],
        budget: &Budget,
    ) -> Halves {
        let mut halves = Halves::default();
        if units.is_empty() {
            return halves;
        }
        let package = |path: &PathBuf| {
            // A section that cannot be read is as good as empty: the units in it are then missing.
            load_file(path, budget, |read| {
                DwarfPackageSections::load(|id| Ok(read(id).unwrap_or_default()))
            })
        };
        halves.packages = files.packages.iter().filter_map(package).collect();
        let packages = borrowed(&halves.packages, index);
        for &(id, dwo_id) in units {
            let is_in = |package: &DwarfPackage<_>| package.cu_index.find(dwo_id.0).is_some();
            if packages.iter().any(is_in) {
                continue;
            }
            let unit = &index.units[id].unit;
            let name = unit.dwo_name().ok().flatten();
            let name = name.and_then(|name| index.dwarf.attr_string(unit, name).ok());
            let Some(name) = name.map(|name| text(name.slice()).into_owned()) else {
                continue;
            };
            let beside = PathBuf::from(join_path(&directory(unit), &name));
            let file_name = Path::new(&name).file_name().unwrap_or_default();
            let elsewhere = files.folders.iter().map(|folder| folder.join(file_name));
            let found = std::iter::once(beside).chain(elsewhere).find_map(|path| {
                load_file(&path, budget, |read| {
                    DwarfSections::load(|id| {
                        if is_read(id) {
                            read(id)
                        } else {
                            Ok(Vec::new())
                        }
                    })
                })
            });
            match found {
                Some(file) => halves.loose.push((id, file)),
                None if halves.missing.len() < MAX_MISSING => halves.missing.push(name),
                None => {}
            }
        }
        halves
    }

    /// Gives those units their other halves; returns the names of files that were missing or belong
    /// to another build.
    pub(super) fn attach<'a>(
        &'a self,
        index: &mut Index<'a>,
        units: &[(usize, DwoId)],
    ) -> Vec<String> {
        let mut missing = self.missing.clone();
        let packages = borrowed(&self.packages, index);
        for &(id, dwo_id) in units {
            packages
                .iter()
                .filter_map(|package| package.find_cu(dwo_id, index.dwarf).ok()?)
                .any(|half| index.units[id].take_half(half));
        }
        let endian = index.dwarf.debug_info.reader().endian();
        for (id, sections) in &self.loose {
            let mut dwarf = sections.borrow(|bytes| EndianSlice::new(bytes, endian));
            dwarf.make_dwo(index.dwarf);
            let unit = &mut index.units[*id];
            if !unit.take_half(dwarf) && missing.len() < MAX_MISSING {
                let name = unit.unit.name;
                let name = name.map_or("a .dwo file".into(), |name| text(name.slice()));
                missing.push(format!("{name} (of another build)"));
            }
        }
        missing
    }
}

/// Reads a file by a function that asks for its sections; `None` if it cannot be read.
fn load_file<T>(
    path: &Path,
    budget: &Budget,
    load: impl FnOnce(&mut dyn FnMut(SectionId) -> gimli::Result<Vec<u8>>) -> gimli::Result<T>,
) -> Option<T> {
    let bytes = Image::open(path).ok()?.bytes().ok()?;
    let object = image::parse(&*bytes).ok()?;
    let mut sections = image::Sections::new(&object, bytes.len());
    let file = load(&mut |id| match id.dwo_name() {
        Some(name) => match sections.read(name) {
            Ok(bytes) => Ok(bytes.into_owned()),
            Err(_) => Err(gimli::Error::Io),
        },
        None => Ok(Vec::new()),
    })
    .ok()?;
    budget.add(sections.bytes);
    Some(file)
}

/// The packages that have an index.
fn borrowed<'h>(
    packages: &'h [DwarfPackageSections<Vec<u8>>],
    index: &Index<'_>,
) -> Vec<DwarfPackage<Slice<'h>>> {
    let endian = index.dwarf.debug_info.reader().endian();
    let packages = packages.iter().filter_map(|sections| {
        let empty = EndianSlice::new(&[], endian);
        let package = sections.borrow(|bytes| EndianSlice::new(bytes, endian), empty);
        package.ok()
    });
    packages.collect()
}
