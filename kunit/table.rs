// SPDX-License-Identifier: GPL-2.0

//! Tables of test rows, each a result of its own in the report.
//!
//! What `kernel::kunit` lacks: parameterised cases, a skip at run time with a reason, and failures
//! that say what was got and what was expected. KUnit prints the number of rows as the plan of the
//! table, so that a parser misses none.
//!
//! C header: [`include/kunit/test.h`](srctree/include/kunit/test.h)

use core::panic::Location;
use kernel::{
    bindings,
    fmt,
    prelude::*,
    types::Opaque, //
};

#[cfg(not(CONFIG_KUNIT = "y"))]
compile_error!("Rust suites need CONFIG_KUNIT=y: as a module, KUnit would leave them out silently");

/// One row of a table; it displays its name.
pub(crate) trait Row: fmt::Display + Sync + 'static {
    /// Tells `test` of what is wrong with the row. An error fails it too.
    fn check(&self, test: &Test) -> Result;
}

/// A table of rows.
pub(crate) trait Table {
    /// What the rows are.
    type Row: Row;

    /// The rows.
    const ROWS: &'static [Self::Row];
}

/// A test that runs.
///
/// # Invariants
///
/// The `struct kunit` is that of the row which the current task checks.
#[repr(transparent)]
pub(crate) struct Test(Opaque<bindings::kunit>);

impl Test {
    /// Wraps the test that KUnit runs.
    ///
    /// # Safety
    ///
    /// `test` must be what KUnit hands to a case, by the task that runs it.
    unsafe fn from_raw<'a>(test: *mut bindings::kunit) -> &'a Self {
        // INVARIANT: By the safety requirements.
        // SAFETY: By the safety requirements; `Self` is a transparent wrapper.
        unsafe { &*test.cast() }
    }

    /// Fails the row unless `got` is what is expected, and goes on.
    #[track_caller]
    pub(crate) fn equal<T: fmt::Debug + PartialEq>(&self, what: &str, got: T, expected: T) {
        if got != expected {
            self.fail(fmt!("{what}: got {got:?}, expected {expected:?}\n"));
        }
    }

    /// Fails the row with a message, and goes on.
    #[track_caller]
    pub(crate) fn fail(&self, message: fmt::Arguments<'_>) {
        let caller = Location::caller();
        let mut file = [0; 128];
        print(&mut file, fmt!("{}", caller.file()));
        let location = bindings::kunit_loc {
            file: file.as_ptr(),
            line: caller.line().try_into().unwrap_or(0),
        };
        let assert = bindings::kunit_assert {};
        // SAFETY: The test runs by the type invariants. KUnit prints at once and keeps no pointer; the
        // function takes no more than the message, and `%pA` takes a pointer to `fmt::Arguments`.
        unsafe {
            bindings::__kunit_do_failed_assertion(
                self.0.get(),
                &location,
                bindings::kunit_assert_type_KUNIT_EXPECTATION,
                &assert,
                Some(bindings::kunit_fail_assert_format),
                c"    %pA".as_char_ptr(),
                core::ptr::from_ref(&message).cast::<c_void>(),
            )
        };
    }

    /// Marks the row as skipped; it then has nothing more to do.
    pub(crate) fn skip(&self, reason: fmt::Arguments<'_>) {
        let test = self.0.get();
        // SAFETY: The test runs by the type invariants, and only its own task uses the comment.
        print(unsafe { &mut (*test).status_comment }, reason);
        // SAFETY: As above.
        unsafe { (*test).status = bindings::kunit_status_KUNIT_SKIPPED };
    }
}

/// Prints into a C string, as much as fits.
fn print<const N: usize>(to: &mut [c_char; N], args: fmt::Arguments<'_>) {
    // SAFETY: `to` has room for `N` bytes, and `%pA` takes a pointer to `fmt::Arguments`.
    unsafe {
        bindings::scnprintf(
            to.as_mut_ptr(),
            N,
            c"%pA".as_char_ptr(),
            core::ptr::from_ref(&args).cast::<c_void>(),
        )
    };
}

/// The KUnit case that runs every row of a table. For [`suite!`] alone.
pub(crate) const fn case<T: Table>(name: &'static CStr) -> bindings::kunit_case {
    assert!(!T::ROWS.is_empty(), "a table without rows would pass");
    let mut case = kernel::kunit::kunit_case(name, run::<T>);
    case.generate_params = Some(bindings::kunit_array_gen_params);
    case.param_init = Some(init::<T>);
    case
}

/// Tells KUnit of the rows, for `kunit_case::param_init`.
///
/// # Safety
///
/// Only KUnit may call it, with a test whose rows have not been run.
unsafe extern "C" fn init<T: Table>(test: *mut bindings::kunit) -> c_int {
    // SAFETY: By the safety requirements.
    unsafe {
        (*test).params_array = bindings::kunit_params {
            params: T::ROWS.as_ptr().cast(),
            num_params: T::ROWS.len(),
            elem_size: size_of::<T::Row>(),
            get_description: Some(describe::<T>),
        }
    };
    0
}

/// Names a row, for `kunit_params::get_description`.
///
/// # Safety
///
/// Only KUnit may call it: `row` must be one of the table, and `name` as long as the name of a row can
/// be.
unsafe extern "C" fn describe<T: Table>(
    _test: *mut bindings::kunit,
    row: *const c_void,
    name: *mut c_char,
) {
    // SAFETY: By the safety requirements; the rows are static.
    let row = unsafe { &*row.cast::<T::Row>() };
    let name = name.cast::<[c_char; bindings::KUNIT_PARAM_DESC_SIZE as usize]>();
    // SAFETY: By the safety requirements.
    print(unsafe { &mut *name }, fmt!("{row}"));
}

/// Checks a row, for `kunit_case::run_case`.
///
/// # Safety
///
/// Only KUnit may call it, with a test whose parameter is a row of the table.
unsafe extern "C" fn run<T: Table>(test: *mut bindings::kunit) {
    // SAFETY: By the safety requirements; the rows are static.
    let row = unsafe { &*(*test).param_value.cast::<T::Row>() };
    // SAFETY: By the safety requirements.
    let test = unsafe { Test::from_raw(test) };
    if let Err(error) = row.check(test) {
        test.fail(fmt!("error {}\n", error.to_errno()));
    }
}

/// `suite!(name: c"case" => Table, …)`: a KUnit suite with one case a table.
#[macro_export]
macro_rules! suite {
    ($suite:ident: $($case:literal => $table:ty),+ $(,)?) => {
        const _: () = {
            const CASES: usize = [$($case),+].len();
            static mut TABLES: [::kernel::bindings::kunit_case; CASES + 1] =
                [$($crate::table::case::<$table>($case),)+ ::pin_init::zeroed()];
            ::kernel::kunit_unsafe_test_suite!($suite, TABLES);
        };
    };
}
