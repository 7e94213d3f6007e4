//! Small: a library without the standard one.
#![no_std]

#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    loop {}
}

mod shapes {
    pub trait Shape {
        fn area(&self) -> u64;
    }

    pub struct Square(pub u64);

    impl Shape for Square {
        #[inline(always)]
        fn area(&self) -> u64 {
            self.0.wrapping_mul(self.0)
        }
    }
}

#[inline(never)]
fn total<S: shapes::Shape>(all: &[S]) -> u64 {
    all.iter().map(|s| s.area()).filter(|a| a % 3 != 0).fold(7, |a, b| a.rotate_left(5) ^ b)
}

/// # Safety
/// `sides` has `count` numbers.
#[no_mangle]
pub unsafe extern "C" fn run(sides: *const u64, count: usize) -> u64 {
    const NONE: shapes::Square = shapes::Square(0);
    let mut all = [NONE; 16];
    for (square, side) in all.iter_mut().zip(core::slice::from_raw_parts(sides, count)) {
        square.0 = side.saturating_add(1);
    }
    total(&all[..count])
}
