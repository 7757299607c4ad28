//! How much work it is to compile a module, looked at before it is compiled. A compiler gives each value a place wherever it is still
//! needed, so that a few kilobytes with many branches below many values can keep it busy for minutes.

use crate::module::bad;
use colkit_core::{Error, Result};
use wasmparser::{
    BinaryReaderError, FuncValidator, FuncValidatorAllocations, FunctionBody, Operator, Parser, ValidPayload,
    Validator, ValidatorResources,
};

/// What is allowed. The slowest modules below it that were tried took two seconds to compile in a debug build; those with a few times as
/// much took eight and more.
const MOST_EFFORT: u64 = 2_000_000;

/// What an instruction takes, and a function, whatever they are.
const INSTRUCTION: u64 = 2;
const FUNCTION: u64 = 150;

/// What a block around a branch takes, in values.
const AROUND: u64 = 3;

/// Values on the stack that take as much as one wherever control goes on elsewhere.
const WAITING: u64 = 16;

/// Blocks within blocks.
const MOST_NESTED: u32 = 1000;

/// Bytes of one function.
const MOST_FUNCTION_BYTES: usize = 128 << 10;

fn invalid(e: BinaryReaderError) -> Error {
    bad(format!("the module cannot be compiled: {e}"))
}

/// An error if the module is not valid, or would take long to compile.
pub(crate) fn check(module: &[u8]) -> Result<()> {
    let mut validator = Validator::new();
    let mut allocations = FuncValidatorAllocations::default();
    let mut effort = 0;
    for payload in Parser::new(0).parse_all(module) {
        let valid = validator.payload(&payload.map_err(invalid)?).map_err(invalid)?;
        if let ValidPayload::Func(function, body) = valid {
            let mut function = function.into_validator(allocations);
            add(&mut function, &body, &mut effort)?;
            allocations = function.into_allocations();
        }
    }
    Ok(())
}

/// Adds the effort of a function: for each instruction, and wherever control goes on elsewhere for all values that may be needed
/// later.
fn add(function: &mut FuncValidator<ValidatorResources>, body: &FunctionBody<'_>, effort: &mut u64) -> Result<()> {
    let length = body.range().len();
    if length > MOST_FUNCTION_BYTES {
        return Err(bad(format!("a function of {length} bytes; {MOST_FUNCTION_BYTES} are allowed")));
    }
    function.read_locals(&mut body.get_binary_reader()).map_err(invalid)?;
    let locals = u64::from(function.len_locals());
    *effort = effort.saturating_add(FUNCTION + locals);
    for read in body.get_operators_reader().map_err(invalid)?.into_iter_with_offsets() {
        let (operator, offset) = read.map_err(invalid)?;
        let ways = ways(&operator);
        let height = u64::from(function.operand_stack_height());
        let values = locals + height + AROUND * u64::from(function.control_stack_height());
        *effort = effort.saturating_add(INSTRUCTION + height / WAITING).saturating_add(ways.saturating_mul(values));
        function.op(offset, &operator).map_err(invalid)?;
        if *effort > MOST_EFFORT {
            return Err(bad("compiling the module would take too long").hint("smaller functions take less"));
        }
        if function.control_stack_height() > MOST_NESTED {
            return Err(bad(format!("more than {MOST_NESTED} blocks within each other")));
        }
    }
    Ok(())
}

/// Where control may go on after an instruction, other than at the next one.
fn ways(operator: &Operator<'_>) -> u64 {
    match operator {
        Operator::Block { .. }
        | Operator::Loop { .. }
        | Operator::If { .. }
        | Operator::Else
        | Operator::Br { .. }
        | Operator::BrIf { .. }
        | Operator::Return
        | Operator::Call { .. }
        | Operator::CallIndirect { .. } => 1,
        Operator::BrTable { targets } => u64::from(targets.len()) + 1,
        _ => 0,
    }
}
