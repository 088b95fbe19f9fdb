//! The instructions of a function's entry, run up to an address.
//!
//! gimli can run them too. But its rows have all registers that a function saves, 20 on aarch64,
//! and are copied via the target's stack, of which an event takes little. Steps need two registers.

use super::machine::Machine;
use gimli::CallFrameInstruction::{self, *};
use gimli::{
    BaseAddresses, CallFrameInstructionIter, CfaRule, EhFrame, EndianSlice, FrameDescriptionEntry,
    LittleEndian, RegisterRule,
};

/// The bytes of a table.
pub(super) type Bytes = EndianSlice<'static, LittleEndian>;

/// Describes how a caller's registers follow from those of its callee. A register that is not
/// mentioned has no rule.
#[derive(Clone, Default)]
pub(super) struct Row {
    pub(super) cfa: CfaRule<usize>,
    pub(super) address: Option<RegisterRule<usize>>,
    pub(super) bp: Option<RegisterRule<usize>>,
}

/// The rules of the return address and of the frame pointer register.
type Registers = [Option<RegisterRule<usize>>; 2];

/// Number of rows that may be remembered. Compilers remember one.
const MOST_REMEMBERED: usize = 2;

/// Returns the row of an address. Returns `None` if the instructions are not understood.
#[inline(never)]
pub(super) fn row_at<M: Machine>(
    frames: &EhFrame<Bytes>,
    bases: &BaseAddresses,
    entry: &FrameDescriptionEntry<Bytes>,
    address: u64,
) -> Option<Row> {
    let common = entry.cie();
    let mut run = Run {
        row: Row::default(),
        first: None,
        remembered: [const { None }; MOST_REMEMBERED],
        factors: (
            common.code_alignment_factor(),
            common.data_alignment_factor(),
        ),
        at: entry.initial_address(),
        address,
    };
    run.all::<M>(common.instructions(frames, bases))?;
    run.first = Some([run.row.address.clone(), run.row.bp.clone()]);
    run.all::<M>(entry.instructions(frames, bases))?;
    Some(run.row)
}

struct Run {
    row: Row,
    /// The rules with which functions begin, once they are known.
    first: Option<Registers>,
    remembered: [Option<Row>; MOST_REMEMBERED],
    /// The factors of code addresses and of offsets.
    factors: (u64, i64),
    at: u64,
    /// The address of the wanted row.
    address: u64,
}

impl Run {
    /// Runs instructions up to the wanted address.
    fn all<M: Machine>(
        &mut self,
        mut instructions: CallFrameInstructionIter<'_, Bytes>,
    ) -> Option<()> {
        while let Some(instruction) = instructions.next().ok()? {
            self.one::<M>(instruction)?;
            if self.at > self.address {
                break;
            }
        }
        Some(())
    }

    fn one<M: Machine>(&mut self, instruction: CallFrameInstruction<usize>) -> Option<()> {
        let (of_code, of_offsets) = self.factors;
        let factored = |offset: i64| offset.wrapping_mul(of_offsets);
        match instruction {
            SetLoc { address } if address >= self.at => self.at = address,
            SetLoc { .. } => return None,
            AdvanceLoc { delta } => {
                let bytes = u64::from(delta).wrapping_mul(of_code);
                self.at = self.at.wrapping_add(bytes);
            }
            DefCfa { register, offset } => self.set_cfa(register, offset as i64),
            DefCfaSf {
                register,
                factored_offset,
            } => self.set_cfa(register, factored(factored_offset)),
            DefCfaRegister { register } => self.set_cfa(register, self.cfa()?.1),
            DefCfaOffset { offset } => self.set_cfa(self.cfa()?.0, offset as i64),
            DefCfaOffsetSf { factored_offset } => {
                self.set_cfa(self.cfa()?.0, factored(factored_offset));
            }
            DefCfaExpression { expression } => self.row.cfa = CfaRule::Expression(expression),
            Undefined { register } => self.set::<M>(register, RegisterRule::Undefined),
            SameValue { register } => self.set::<M>(register, RegisterRule::SameValue),
            Offset {
                register,
                factored_offset,
            } => {
                let offset = factored(factored_offset as i64);
                self.set::<M>(register, RegisterRule::Offset(offset));
            }
            OffsetExtendedSf {
                register,
                factored_offset,
            } => {
                let offset = factored(factored_offset);
                self.set::<M>(register, RegisterRule::Offset(offset));
            }
            ValOffset {
                register,
                factored_offset,
            } => {
                let offset = factored(factored_offset as i64);
                self.set::<M>(register, RegisterRule::ValOffset(offset));
            }
            ValOffsetSf {
                register,
                factored_offset,
            } => {
                let offset = factored(factored_offset);
                self.set::<M>(register, RegisterRule::ValOffset(offset));
            }
            Register {
                dest_register,
                src_register,
            } => self.set::<M>(dest_register, RegisterRule::Register(src_register)),
            Expression {
                register,
                expression,
            } => self.set::<M>(register, RegisterRule::Expression(expression)),
            ValExpression {
                register,
                expression,
            } => self.set::<M>(register, RegisterRule::ValExpression(expression)),
            Restore { register } => {
                let [address, bp] = self.first.as_ref()?;
                if register == M::RETURN_ADDRESS {
                    self.row.address = address.clone();
                } else if register == M::FRAME_POINTER {
                    self.row.bp = bp.clone();
                }
            }
            RememberState => {
                let place = self.remembered.iter_mut().find(|row| row.is_none())?;
                *place = Some(self.row.clone());
            }
            RestoreState => {
                let mut remembered = self.remembered.iter_mut().rev();
                self.row = remembered.find_map(Option::take)?;
            }
            // A signature is removed wherever there is one.
            NegateRaState | ArgsSize { .. } | Nop => {}
        }
        Some(())
    }

    fn set_cfa(&mut self, register: gimli::Register, offset: i64) {
        self.row.cfa = CfaRule::RegisterAndOffset { register, offset };
    }

    /// Returns the register and the offset of the frame's end.
    fn cfa(&self) -> Option<(gimli::Register, i64)> {
        match self.row.cfa {
            CfaRule::RegisterAndOffset { register, offset } => Some((register, offset)),
            CfaRule::Expression(_) => None,
        }
    }

    fn set<M: Machine>(&mut self, register: gimli::Register, rule: RegisterRule<usize>) {
        if register == M::RETURN_ADDRESS {
            self.row.address = Some(rule);
        } else if register == M::FRAME_POINTER {
            self.row.bp = Some(rule);
        }
    }
}
