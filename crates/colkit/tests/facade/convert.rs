use super::sample::{batch, formats, input, native_formats, write};
use colkit::arrow::datatypes::DataType;
use colkit::{
    ColumnName, Conversion, CreateOptions, DiffOptions, MemorySink, OpenOptions, Registry, TextOptions, Types, diff,
};

/// What `conversion` writes in the format of this name.
fn converted(conversion: Conversion, to: &str) -> colkit::Result<(Vec<u8>, colkit::ConversionSummary)> {
    let format = Registry::default().named(to, &TextOptions::default())?;
    let sink = MemorySink::new();
    let summary = conversion.prepare(format)?.write(Box::new(sink.clone()))?;
    Ok((sink.bytes().unwrap().to_vec(), summary))
}

#[test]
fn every_format_to_every_other() {
    for from in formats() {
        let name = format!("in.{}", from.extensions()[0]);
        let source = input(&name, write(from.as_ref(), &batch()));
        for to in formats() {
            let conversion = Conversion::new([source.clone()]);
            let (bytes, summary) = converted(conversion, to.name()).unwrap();
            assert_eq!((summary.rows, summary.columns), (1000, 3));
            assert_eq!(summary.output_bytes, bytes.len() as u64);
            assert_eq!(summary.input_bytes, source.size());
            let result = input(&format!("out.{}", to.extensions()[0]), bytes);
            let difference = diff(&source, &result, &OpenOptions::new(), &DiffOptions::default()).unwrap();
            assert!(difference.is_equal(), "{} to {}: {difference:?}", from.name(), to.name());
        }
    }
}

#[test]
fn little_memory_is_enough_and_changes_nothing() {
    let source = input("in.csv", write(formats().iter().find(|f| f.name() == "csv").unwrap().as_ref(), &batch()));
    for to in formats() {
        let with = |memory: u64, threads: usize| {
            let options = CreateOptions::new().with_memory(memory).with_threads(threads);
            let conversion = Conversion::new([source.clone()]).create_options(options);
            converted(conversion, to.name()).unwrap().0
        };
        assert_eq!(with(8 << 20, 1), with(512 << 20, 4), "{}", to.name());
    }
}

#[test]
fn text_is_read_to_types_the_target_has() {
    let source = input("in.csv", "ok,big,n\ntrue,9007199254740993,1\nfalse,5,2\n");
    for to in formats() {
        let conversion = Conversion::new([source.clone()]);
        let prepared = conversion.prepare(to.clone()).unwrap();
        for field in prepared.schema().fields() {
            assert!(to.stores(field.data_type()), "{}: {field:?}", to.name());
        }
    }
}

#[test]
fn typed_inputs_decide_what_text_is_read_as() {
    for typed in native_formats() {
        let name = format!("a.{}", typed.extensions()[0]);
        let inputs = [input("b.csv", "n,x,t\n1,2,3\n"), input(&name, write(typed.as_ref(), &batch()))];
        let conversion = Conversion::new(inputs);
        let (bytes, summary) = converted(conversion, "csv").unwrap();
        assert_eq!(summary.rows, 1001);
        assert!(bytes.starts_with(b"n,x,t\n1,2.0,3\n"), "{}", String::from_utf8_lossy(&bytes[..40]));
    }
}

#[test]
fn columns_and_conditions_are_resolved_before_anything_is_written() {
    let source = input("in.csv", "a,b\n1,x\n2,y\n");
    let with = |columns: Option<Vec<ColumnName>>, condition: Option<&str>| {
        let mut conversion = Conversion::new([source.clone()]);
        if let Some(columns) = columns {
            conversion = conversion.columns(columns);
        }
        if let Some(condition) = condition {
            conversion = conversion.filter(condition);
        }
        converted(conversion, "csv").map(|(bytes, _)| String::from_utf8(bytes).unwrap())
    };
    let named = |list: &str| Some(ColumnName::parse_list(list).unwrap());
    assert_eq!(with(named("b"), Some("a > 1")).unwrap(), "b\ny\n");
    let error = with(named("z"), None).unwrap_err();
    assert_eq!((error.code(), error.file_name()), ("no_such_column", Some("in.csv")));
    assert_eq!(with(None, Some("a >")).unwrap_err().code(), "bad_predicate");
    assert_eq!(converted(Conversion::default(), "csv").unwrap_err().code(), "no_input");
}

#[test]
fn given_types_win_over_inferred_ones() {
    let text = TextOptions { types: vec![("a".into(), DataType::Utf8)], ..TextOptions::default() };
    let opened = OpenOptions::new().with_text(text).open_input(&input("in.csv", "a,b\n1,2\n")).unwrap();
    assert_eq!(opened.schema().field(0).data_type(), &DataType::Utf8);
    assert_eq!(opened.schema().field(1).data_type(), &DataType::Int32);
    assert_eq!(opened.scan().batches().unwrap().map(|b| b.unwrap().num_rows()).sum::<usize>(), 1);
}

#[test]
fn wide_integers_become_the_narrowest_type_that_keeps_them() {
    let source = input("in.csv", "a,b,c\n1,9007199254740993,3000000000\n2,1,4\n");
    let types = ["a", "b", "c"].map(|name| (name.to_string(), DataType::Int64)).to_vec();
    let with = |policy| {
        let conversion = Conversion::new([source.clone()])
            .open_options(OpenOptions::new().with_text_types(types.clone()))
            .create_options(CreateOptions::new().with_types(policy));
        converted(conversion, "cff")
    };
    assert_eq!(with(Types::Refuse).unwrap_err().code(), "type_not_supported");
    assert_eq!(with(Types::Exact).unwrap_err().code(), "value_out_of_range");
    let (bytes, summary) = with(Types::Lossy).unwrap();
    assert_eq!(summary.notes.len(), 3, "{:?}", summary.notes);
    let file = OpenOptions::new().open_input(&input("out.cff", bytes)).unwrap();
    let types: Vec<DataType> = file.schema().fields().iter().map(|f| f.data_type().clone()).collect();
    assert_eq!(types, [DataType::Int32, DataType::Utf8, DataType::Float64]);
}

#[test]
fn what_inference_noticed_is_passed_on() {
    let conversion = Conversion::new([input("in.csv", "a,b\n1,x\n,y\n")]);
    let (_, summary) = converted(conversion, "gppcol").unwrap();
    assert!(summary.notes[0].contains("line 3") && summary.notes[0].contains("\"a\""), "{:?}", summary.notes);
}
