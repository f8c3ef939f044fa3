// SPDX-License-Identifier: GPL-2.0

//! Files in debugfs that keep their module while they are open.
//!
//! Those of the `kernel` crate do not: their operations lie in the module that makes them and name no owner, so
//! that closing one of them after the module has gone calls what is no longer there.
//!
//! C header: [`include/linux/debugfs.h`](srctree/include/linux/debugfs.h)

#![allow(dead_code)] // A module needs a part of it.

use crate::compat::this_module;
use core::{
    cell::Cell,
    marker::PhantomData,
    ptr::NonNull, //
};
use kernel::{
    bindings,
    fmt,
    prelude::*,
    seq_file::SeqFile,
    seq_print,
    sync::Arc,
    uaccess::{
        UserPtr,
        UserSlice,
        UserSliceReader, //
    }, //
};

/// What a file shows of a `T`. If it fails, memory was short.
pub(crate) trait Show<T>: Fn(&T, &mut fmt::Formatter<'_>) -> fmt::Result + Copy {}

impl<T, F: Fn(&T, &mut fmt::Formatter<'_>) -> fmt::Result + Copy> Show<T> for F {}

/// What a file makes of what is written to it.
pub(crate) trait Take<T>: Fn(&T, &mut UserSliceReader) -> Result + Copy {}

impl<T, F: Fn(&T, &mut UserSliceReader) -> Result + Copy> Take<T> for F {}

/// A folder; gone with all that is in it when dropped, after which none of its functions runs.
///
/// It is an aid: where debugfs could not make it, or there is no debugfs, all else works.
///
/// # Invariants
///
/// `dentry` is that of a folder, or an error, where debugfs makes nothing.
pub(crate) struct Folder {
    dentry: *mut bindings::dentry,
    _parent: Option<Arc<Folder>>,
}

// SAFETY: debugfs locks what it changes.
unsafe impl Send for Folder {}
// SAFETY: As above.
unsafe impl Sync for Folder {}

impl Folder {
    /// Makes a folder in another, or at the top.
    pub(crate) fn new(name: &CStr, parent: Option<Arc<Self>>) -> Self {
        let within = parent
            .as_ref()
            .map_or(core::ptr::null_mut(), |parent| parent.dentry);
        // INVARIANT: That is what it makes. The parent stays as long as this.
        Self {
            dentry: make_folder(name, within),
            _parent: parent,
        }
    }

    /// To put files in it that show what is always there.
    pub(crate) fn files(&self) -> Files<'_, 'static> {
        self.files_of()
    }

    /// To put files in it that show what has to stay as long as they.
    fn files_of<'a>(&self) -> Files<'_, 'a> {
        // INVARIANT: It is as this one, which is borrowed.
        Files {
            dentry: self.dentry,
            _folder: PhantomData,
            _data: PhantomData,
        }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        #[cfg(CONFIG_DEBUG_FS)]
        // SAFETY: By the type invariants; the parent, with which it would go, is still there.
        unsafe {
            bindings::debugfs_remove(self.dentry)
        };
    }
}

/// A folder whose files show something of `D`.
pub(crate) struct Shown<D> {
    /// It goes before what it shows.
    _folder: Folder,
    _data: Arc<D>,
}

impl<D: Send + Sync + 'static> Shown<D> {
    /// Makes a folder in another, or at the top, and fills it.
    pub(crate) fn new(
        name: &CStr,
        parent: Option<Arc<Folder>>,
        data: Arc<D>,
        fill: impl for<'f, 'a> FnOnce(Files<'f, 'a>, &'a D),
    ) -> Self {
        let folder = Folder::new(name, parent);
        fill(folder.files_of(), &data);
        Self {
            _folder: folder,
            _data: data,
        }
    }
}

/// A folder to put files in: it is there for `'f`, and what they show, as long as they, for `'a`.
///
/// # Invariants
///
/// As of [`Folder`], for `'f`.
pub(crate) struct Files<'f, 'a> {
    dentry: *mut bindings::dentry,
    _folder: PhantomData<&'f Folder>,
    _data: PhantomData<&'a ()>,
}

impl<'a> Files<'_, 'a> {
    /// A folder in this one.
    pub(crate) fn folder(&self, name: &CStr) -> Self {
        // INVARIANT: It is there as long as this one.
        Self {
            dentry: make_folder(name, self.dentry),
            ..*self
        }
    }

    /// A file to read.
    pub(crate) fn show<T: Sync, S: Show<T>>(&self, name: &CStr, data: &'a T, _show: S) {
        self.file(name, 0o400, data, &Operations::<T, S, ()>::READ);
    }

    /// A file to read and to write.
    pub(crate) fn control<T: Sync, S: Show<T>, W: Take<T>>(
        &self,
        name: &CStr,
        data: &'a T,
        _show: S,
        _take: W,
    ) {
        self.file(name, 0o600, data, &Operations::<T, S, W>::BOTH);
    }

    /// A file to write.
    pub(crate) fn take<T: Sync, W: Take<T>>(&self, name: &CStr, data: &'a T, _take: W) {
        self.file(name, 0o200, data, &Operations::<T, (), W>::WRITE);
    }

    /// Makes a file.
    #[cfg(CONFIG_DEBUG_FS)]
    fn file<T>(
        &self,
        name: &CStr,
        mode: u16,
        data: &'a T,
        operations: &'static bindings::file_operations,
    ) {
        // SAFETY: By the type invariants. The operations are for such data, which are there until the
        // folder goes.
        unsafe {
            bindings::debugfs_create_file_full(
                name.as_char_ptr(),
                mode,
                self.dentry,
                core::ptr::from_ref(data).cast_mut().cast(),
                core::ptr::null(),
                operations,
            )
        };
    }

    #[cfg(not(CONFIG_DEBUG_FS))]
    fn file<T>(&self, _: &CStr, _: u16, _: &'a T, _: &'static bindings::file_operations) {}
}

#[cfg(CONFIG_DEBUG_FS)]
fn make_folder(name: &CStr, parent: *mut bindings::dentry) -> *mut bindings::dentry {
    // SAFETY: The parent is a folder, none, or an error, as debugfs takes it.
    unsafe { bindings::debugfs_create_dir(name.as_char_ptr(), parent) }
}

#[cfg(not(CONFIG_DEBUG_FS))]
fn make_folder(_: &CStr, _: *mut bindings::dentry) -> *mut bindings::dentry {
    core::ptr::null_mut()
}

/// The operations of files whose inodes have a `T`, shown by `S` and written by `W`.
struct Operations<T, S, W>(PhantomData<(T, S, W)>);

/// Nothing but the owner.
const OWNED: bindings::file_operations = bindings::file_operations {
    owner: this_module::<crate::LocalModule>().as_ptr(),
    ..pin_init::zeroed()
};

impl<T: Sync, S: Show<T>, W> Operations<T, S, W> {
    const READ: bindings::file_operations = bindings::file_operations {
        open: Some(open::<T, S>),
        read: Some(bindings::seq_read),
        llseek: Some(bindings::seq_lseek),
        release: Some(bindings::single_release),
        ..OWNED
    };
}

impl<T: Sync, S: Show<T>, W: Take<T>> Operations<T, S, W> {
    const BOTH: bindings::file_operations = bindings::file_operations {
        write: Some(write::<T, W>),
        ..Self::READ
    };
}

impl<T: Sync, W: Take<T>> Operations<T, (), W> {
    const WRITE: bindings::file_operations = bindings::file_operations {
        write: Some(write::<T, W>),
        llseek: Some(bindings::noop_llseek),
        ..OWNED
    };
}

/// Returns the function of that type.
///
/// # Safety
///
/// There must have been one.
unsafe fn function<F: Copy>() -> F {
    const { assert!(size_of::<F>() == 0) };
    // SAFETY: It takes no room, and there has been one, by the requirements.
    unsafe { NonNull::dangling().read() }
}

/// # Safety
///
/// Only as an operation of a file whose inode has a `T` and which was made with an `S`.
unsafe extern "C" fn open<T: Sync, S: Show<T>>(
    inode: *mut bindings::inode,
    file: *mut bindings::file,
) -> c_int {
    // SAFETY: By the requirements.
    unsafe { bindings::single_open(file, Some(show::<T, S>), (*inode).i_private) }
}

/// # Safety
///
/// As of [`open`], of whose file it is a part.
unsafe extern "C" fn show<T: Sync, S: Show<T>>(
    seq: *mut bindings::seq_file,
    _: *mut c_void,
) -> c_int {
    // SAFETY: By the requirements; debugfs does not let what is shown go while this runs.
    let (file, data, show) = unsafe {
        (
            SeqFile::from_raw(seq),
            &*(*seq).private.cast::<T>(),
            function::<S>(),
        )
    };
    let failed = Cell::new(false);
    let text = Text(|f: &mut fmt::Formatter<'_>| show(data, f).inspect_err(|_| failed.set(true)));
    seq_print!(file, "{}", text);
    if failed.get() {
        ENOMEM.to_errno()
    } else {
        0
    }
}

/// What a function writes.
struct Text<F>(F);

impl<F: Fn(&mut fmt::Formatter<'_>) -> fmt::Result> fmt::Display for Text<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (self.0)(f)
    }
}

/// # Safety
///
/// Only as an operation of a file whose inode has a `T` and which was made with a `W`.
unsafe extern "C" fn write<T: Sync, W: Take<T>>(
    file: *mut bindings::file,
    bytes: *const c_char,
    count: usize,
    _: *mut bindings::loff_t,
) -> isize {
    // SAFETY: By the requirements; debugfs does not let what is written to go while this runs.
    let (data, take) = unsafe { (&*(*(*file).f_inode).i_private.cast::<T>(), function::<W>()) };
    let bytes = UserPtr::from_ptr(bytes.cast_mut().cast());
    match take(data, &mut UserSlice::new(bytes, count).reader()) {
        Ok(()) => count as isize,
        Err(error) => error.to_errno() as isize,
    }
}
