//! The function that the loader calls before the program's own code runs.

use crate::begin::{self, Malloc};
use crate::{exec, linked, loading, operators, redirected, slots};
use heapglass_recorder::start_from_environment;

#[used]
#[unsafe(link_section = ".init_array")]
static CONSTRUCTOR: extern "C" fn() = constructor;

extern "C" fn constructor() {
    loading::prepare();
    if begin::is_late() {
        return;
    }
    exec::find();
    begin::may_record();
    if begin::records() {
        operators::find();
    }
    if operators::are_found() {
        slots::begin();
    }
    linked::begin(&redirected::all());
    start_from_environment::<Malloc>();
}
