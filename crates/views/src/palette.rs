//! One colour a category, the same in every picture: flame graph, SVG, page and legends. The habits of
//! flame-graph readers are kept (JavaScript green, V8's C++ yellow, kernel orange, native code red); black
//! text can be read on each of them.

use profile::Category;

/// What is not code: the root, a thread.
pub const GROUP: [u8; 3] = [236, 236, 232];

/// The rows that [`color`] reads, in the order of legends.
const COLORS: [(Category, [u8; 3]); 15] = [
    (Category::App, [98, 196, 84]),
    (Category::Dependency, [178, 222, 122]),
    (Category::NodeCore, [80, 196, 188]),
    (Category::Builtin, [160, 224, 216]),
    (Category::Runtime, [236, 212, 86]),
    (Category::Gc, [186, 138, 240]),
    (Category::Compiler, [148, 182, 220]),
    (Category::Regexp, [238, 170, 206]),
    (Category::Wasm, [128, 148, 240]),
    (Category::Addon, [238, 104, 92]),
    (Category::Libuv, [226, 132, 132]),
    (Category::System, [248, 176, 160]),
    (Category::Kernel, [250, 158, 52]),
    (Category::Idle, [214, 218, 226]),
    (Category::Unknown, [184, 184, 184]),
];

/// Red, green and blue of a category.
pub fn color(category: Category) -> [u8; 3] {
    COLORS[category as usize].1
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Relative luminance as WCAG 2 defines it.
    fn luminance(color: [u8; 3]) -> f64 {
        let linear = |channel: u8| {
            let part = f64::from(channel) / 255.0;
            if part <= 0.04045 { part / 12.92 } else { ((part + 0.055) / 1.055).powf(2.4) }
        };
        0.2126 * linear(color[0]) + 0.7152 * linear(color[1]) + 0.0722 * linear(color[2])
    }

    #[test]
    fn rows_stand_in_the_order_of_categories() {
        let order: Vec<Category> = COLORS.iter().map(|row| row.0).collect();
        assert_eq!(order, Category::ALL);
    }

    #[test]
    fn black_text_passes_wcag_aa() {
        for color in COLORS.iter().map(|row| row.1).chain([GROUP]) {
            let contrast = (luminance(color) + 0.05) / 0.05;
            assert!(contrast >= 4.5, "{color:?} has a contrast of {contrast:.1} to black");
        }
    }

    /// "Redmean", a cheap distance that follows the eye well enough to keep two swatches apart.
    #[test]
    fn no_two_categories_look_alike() {
        let distance = |a: [u8; 3], b: [u8; 3]| {
            let [red, green, blue] = [0, 1, 2].map(|row| f64::from(a[row]) - f64::from(b[row]));
            let mean = (f64::from(a[0]) + f64::from(b[0])) / 2.0;
            let (red_part, blue_part) = (2.0 + mean / 256.0, 2.0 + (255.0 - mean) / 256.0);
            (red_part * red * red + 4.0 * green * green + blue_part * blue * blue).sqrt()
        };
        for (row, (first, a)) in COLORS.iter().enumerate() {
            for (second, b) in &COLORS[row + 1..] {
                let apart = distance(*a, *b);
                assert!(apart >= 60.0, "{first:?} and {second:?} are only {apart:.0} apart");
            }
        }
    }
}
