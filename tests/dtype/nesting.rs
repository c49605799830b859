//! A small stack is enough to read or reject a string, for any depth of nested dtypes.

use std::collections::HashSet;
use std::thread;

use b2nd_serde::dtype::{Dtype, ErrorKind};

/// The size of the stack in these tests, in bytes: 128 KiB. That is the stack of a thread with musl, the smallest stack
/// of all supported systems. On s390x the size is 256 KiB. There, every call needs at least 160 bytes of the stack, so
/// the nested calls of a build without optimization do not fit 128 KiB.
const STACK: usize = if cfg!(target_arch = "s390x") { 256 } else { 128 } * 1024;

/// The maximum number of dtypes that can be nested in each other.
const DEEPEST: usize = 16;

/// The ways to nest a dtype in another one.
const WAYS: [(&str, &str); 7] = [
    ("[('a', ", ")]"),
    ("[('a', ", ", (1, 1))]"),
    ("[('a', 'u1'), (('title', 'b'), ", "), ('c', 'u1')]"),
    ("(", ", (1,))"),
    ("{'names': ['a', 'b'], 'formats': ['u1', ", "], 'aligned': True}"),
    ("{'titles': ('t',), 'names': ('a',), 'offsets': (0,), 'formats': (", ",)}"),
    ("(numpy.record, [('a', ", ")])"),
];

/// A dtype string with `depth` nested dtypes. A `numpy.record` counts as two dtypes. So if the last dtype that is added
/// is a `numpy.record`, the string can have `depth + 1` nested dtypes.
fn nested(depth: usize, way: impl Fn(usize) -> (&'static str, &'static str)) -> String {
    let (mut text, mut closing) = (String::new(), Vec::new());
    let mut count = 1;
    while count < depth {
        let (open, close) = way(closing.len());
        count += 1 + usize::from(open.starts_with("(numpy.record"));
        text.push_str(open);
        closing.push(close);
    }
    text.push_str("'<i4'");
    text.extend(closing.into_iter().rev());
    text
}

fn on_a_small_stack(test: impl FnOnce() + Send + 'static) {
    thread::Builder::new().stack_size(STACK).spawn(test).expect("a thread").join().expect("it holds");
}

/// Calls every recursive operation on the dtype of a string.
fn use_up(text: &str) {
    let dtype: Dtype = text.parse().unwrap_or_else(|error| panic!("{text}: {error}"));
    for printed in [dtype.type_string().to_string(), dtype.numpy_str().to_string()] {
        assert_eq!(printed.parse(), Ok(dtype.clone()));
    }
    let json = serde_json::to_string(&dtype).expect("a string");
    assert_eq!(serde_json::from_str::<Dtype>(&json).expect("a dtype"), dtype);
    assert!(format!("{dtype:?} {dtype:#?}").contains("Int"));
    assert!(HashSet::from([dtype.clone()]).contains(&dtype));
    drop(dtype);
}

#[test]
fn dtype_parse_of_the_deepest_dtypes_fits_a_small_stack() {
    for way in WAYS {
        // In the depth of a string, the innermost dtype counts as 1, and each `numpy.record` around it as 2. So a
        // string that nests only `numpy.record`s has an odd depth.
        let depth = if way.0.starts_with("(numpy") { DEEPEST - 1 } else { DEEPEST };
        on_a_small_stack(move || use_up(&nested(depth, |_| way)));
    }
    for first in 0..WAYS.len() {
        on_a_small_stack(move || use_up(&nested(DEEPEST - 1, |level| WAYS[(first + level) % WAYS.len()])));
    }
}

#[test]
fn dtype_parse_rejects_a_deeper_dtype_on_a_small_stack() {
    for way in WAYS {
        for depth in [DEEPEST + 1, 10_000] {
            on_a_small_stack(move || {
                let text = nested(depth, |_| way);
                let error = text.parse::<Dtype>().expect_err("too deep");
                assert_eq!(error.kind(), ErrorKind::TooDeep, "{error}");
                assert!(error.to_string().ends_with(": dtypes are nested more than 16 deep"), "{error}");
            });
        }
    }
}

#[test]
fn dtype_parse_rejects_any_number_of_brackets_on_a_small_stack() {
    for opening in ["[", "(", "{", "[('a', ", "[((", "{'formats': [", "{'names': [", "(numpy.record, [('a', "]
    {
        on_a_small_stack(move || assert!(opening.repeat(100_000).parse::<Dtype>().is_err()));
    }
}
