//! Split debug information: the halves of units kept in a `.dwp` package or in `.dwo` files.
//! Each half must carry the same id as the skeleton in the binary, or it is not used.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use gimli::{DwarfPackageSections, EndianSlice, RunTimeEndian};
use object::Object;

use super::super::image::{self, Image};
use super::super::names::{join_path, text};
use super::units::{Index, SplitUnit, directory, is_rust, root_attributes};
use super::{Sections, Slice};

/// Where split debug information may be.
#[derive(Clone, Debug, Default)]
pub(in super::super) struct SplitFiles {
    /// `.dwp` packages that may have been made for the binary.
    pub(in super::super) packages: Vec<PathBuf>,
    /// Folders to look for `.dwo` files in, after the place the unit names.
    pub(in super::super) folders: Vec<PathBuf>,
}

/// No more missing files are named than this.
const MAX_MISSING: usize = 4;

/// Its sections, their byte order, and their bytes together.
type Package = (DwarfPackageSections<Vec<u8>>, RunTimeEndian, usize);

/// The contents of the split files that the wanted units refer to.
#[derive(Default)]
pub(super) struct Data {
    packages: Vec<Package>,
    /// By unit.
    loose: Vec<(usize, Sections<'static>)>,
    missing: Vec<String>,
}

impl Data {
    /// Reads what the units of `wanted` need; without split units nothing is opened.
    pub(super) fn load(
        files: &SplitFiles,
        index: &Index<'_>,
        wanted: impl Iterator<Item = usize>,
    ) -> Data {
        let mut data = Data::default();
        let split: Vec<usize> = wanted
            .filter(|&id| {
                index
                    .units
                    .get(id)
                    .is_some_and(|unit| unit.unit.dwo_id.is_some())
            })
            .collect();
        if split.is_empty() {
            return data;
        }
        data.packages = files
            .packages
            .iter()
            .filter_map(|path| load_package(path))
            .collect();
        for id in split {
            let Some(unit) = index.units.get(id) else {
                continue;
            };
            let packaged = unit
                .unit
                .dwo_id
                .is_some_and(|dwo_id| data.packages.iter().any(|package| holds(package, dwo_id)));
            if packaged {
                continue;
            }
            let name = unit
                .unit
                .dwo_name()
                .ok()
                .flatten()
                .and_then(|name| index.dwarf.attr_string(&unit.unit, name).ok());
            let Some(name) = name.map(|name| text(name.slice()).into_owned()) else {
                continue;
            };
            let beside = PathBuf::from(join_path(&directory(&unit.unit), &name));
            let file_name = Path::new(&name)
                .file_name()
                .map(Path::new)
                .unwrap_or(Path::new(""));
            let elsewhere = files.folders.iter().map(|folder| folder.join(file_name));
            match std::iter::once(beside)
                .chain(elsewhere)
                .find_map(|path| load_loose(&path))
            {
                Some(sections) => data.loose.push((id, sections)),
                None if data.missing.len() < MAX_MISSING => data.missing.push(name),
                None => {}
            }
        }
        data
    }

    /// Bytes of the sections that were read.
    pub(super) fn bytes(&self) -> usize {
        let packages = self.packages.iter().map(|package| package.2);
        let loose = self.loose.iter().map(|(_, sections)| sections.bytes);
        packages.chain(loose).fold(0, usize::saturating_add)
    }

    /// Gives the units their other halves; returns the names of files that were missing or belong to another build.
    pub(super) fn attach<'a>(&'a self, index: &mut Index<'a>) -> Vec<String> {
        let mut missing = self.missing.clone();
        for id in 0..index.units.len() {
            let half = self
                .packages
                .iter()
                .find_map(|package| package_half(package, index, id));
            if half.is_some() {
                index.units[id].split = half;
            }
        }
        for (id, sections) in &self.loose {
            let mut dwarf = sections.borrow();
            dwarf.make_dwo(index.dwarf);
            let half = half_of(dwarf, index, *id);
            if half.is_none() && missing.len() < MAX_MISSING {
                let name = index.units.get(*id).and_then(|unit| unit.unit.name);
                missing.push(format!(
                    "{} (of another build)",
                    name.map_or("a .dwo file".into(), |name| text(name.slice()))
                ));
            }
            if let Some(unit) = index.units.get_mut(*id) {
                unit.split = half;
            }
        }
        missing
    }
}

fn load_package(path: &Path) -> Option<Package> {
    let bytes = Image::open(path).ok()?.bytes().ok()?;
    let object = image::parse(&*bytes).ok()?;
    let endian = endian(&object);
    let mut allowance_bytes = image::most_decompressed_bytes(bytes.len());
    let mut total = 0;
    let sections = DwarfPackageSections::load(|id| -> gimli::Result<Vec<u8>> {
        // A section that cannot be read is as good as empty: the units in it are then missing.
        Ok(id
            .dwo_name()
            .and_then(|name| image::section(&object, name, &mut allowance_bytes).ok())
            .inspect(|section| total += section.len())
            .map(Cow::into_owned)
            .unwrap_or_default())
    });
    Some((sections.ok()?, endian, total))
}

fn load_loose(path: &Path) -> Option<Sections<'static>> {
    let bytes = Image::open(path).ok()?.bytes().ok()?;
    let object = image::parse(&*bytes).ok()?;
    Sections::load_split(&object, bytes.len()).ok()
}

pub(super) fn endian(object: &object::File<'_>) -> RunTimeEndian {
    if object.is_little_endian() {
        RunTimeEndian::Little
    } else {
        RunTimeEndian::Big
    }
}

fn holds((sections, endian, _): &Package, id: gimli::DwoId) -> bool {
    let package = sections.borrow(
        |bytes| EndianSlice::new(bytes, *endian),
        EndianSlice::new(&[], *endian),
    );
    package.is_ok_and(|package| package.cu_index.find(id.0).is_some())
}

fn package_half<'a>(package: &'a Package, index: &Index<'a>, id: usize) -> Option<SplitUnit<'a>> {
    let (sections, endian, _) = package;
    let dwo_id = index.units.get(id)?.unit.dwo_id?;
    let package = sections
        .borrow(
            |bytes| EndianSlice::new(bytes, *endian),
            EndianSlice::new(&[], *endian),
        )
        .ok()?;
    half_of(package.find_cu(dwo_id, index.dwarf).ok()??, index, id)
}

fn half_of<'a>(
    dwarf: gimli::Dwarf<Slice<'a>>,
    index: &Index<'a>,
    id: usize,
) -> Option<SplitUnit<'a>> {
    let skeleton = &index.units.get(id)?.unit;
    let header = dwarf.units().next().ok()??;
    let mut unit = dwarf.unit(header).ok()?;
    if unit.dwo_id != skeleton.dwo_id {
        return None;
    }
    unit.copy_relocated_attributes(skeleton);
    let rust = root_attributes(&unit).is_ok_and(|root| is_rust(&root));
    Some(SplitUnit { dwarf, unit, rust })
}
