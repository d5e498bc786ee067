//! The header of safetensors files, and JSON in it. R reads and writes the files.

use anvil_core::dtype::DType;
use extendr_api::prelude::*;
use safetensors::tensor::{Dtype, Metadata, TensorInfo};
use serde_json::Value;
use std::collections::HashMap;

/// The key of what anvil adds to a file.
const OWN: &str = "anvil";

/// The dtypes of both sides. A file has no `c128`.
const DTYPES: [(DType, Dtype); 14] = [
    (DType::I1, Dtype::BOOL),
    (DType::I8, Dtype::I8),
    (DType::I16, Dtype::I16),
    (DType::I32, Dtype::I32),
    (DType::I64, Dtype::I64),
    (DType::UI8, Dtype::U8),
    (DType::UI16, Dtype::U16),
    (DType::UI32, Dtype::U32),
    (DType::UI64, Dtype::U64),
    (DType::BF16, Dtype::BF16),
    (DType::F16, Dtype::F16),
    (DType::F32, Dtype::F32),
    (DType::F64, Dtype::F64),
    (DType::C64, Dtype::C64),
];

/// The header of a file with tensors of these names, dtypes (as anvil calls them) and shapes, one after the
/// other, and a text of anvil's own. `list(error)` if the format does not have it.
#[extendr]
pub fn anvil_safetensors_header(names: Vec<String>, dtypes: Vec<String>, shapes: List, own: &str) -> List {
    let mut tensors = Vec::with_capacity(names.len());
    let mut end = 0;
    for ((name, dtype), (_, shape)) in names.into_iter().zip(dtypes).zip(shapes.iter()) {
        let found = DTYPES.iter().find(|(own, _)| own.name() == dtype);
        let &(own, dtype) = found.expect("R writes c128 as f64");
        let shape: Vec<usize> =
            shape.as_real_slice().unwrap_or_default().iter().map(|&size| size as usize).collect();
        let start = end;
        end += shape.iter().product::<usize>() * own.bytes();
        tensors.push((name, TensorInfo { dtype, shape, data_offsets: (start, end) }));
    }
    let metadata = HashMap::from_iter([(OWN.to_string(), own.to_string())]);
    let text = match Metadata::new(Some(metadata), tensors) {
        Ok(metadata) => serde_json::to_string(&metadata).expect("names and numbers are JSON"),
        Err(e) => return list!(error = e.to_string()),
    };
    // Tensors begin at a multiple of 8 bytes.
    let length = text.len().next_multiple_of(8);
    let mut header = (length as u64).to_le_bytes().to_vec();
    header.extend(text.bytes());
    header.resize(8 + length, b' ');
    list!(header = Raw::from_bytes(&header))
}

/// What a header, without its length, says: names, dtypes, shapes and places of the tensors in the order of
/// the file, and anvil's own text or `NULL`. A dtype that anvil does not have is the format's name, in capitals.
/// `list(error)` for what is no header.
#[extendr]
pub fn anvil_safetensors_read(header: &[u8]) -> List {
    let metadata: Metadata = match serde_json::from_slice(header) {
        Ok(metadata) => metadata,
        Err(e) => return list!(error = e.to_string()),
    };
    let names = metadata.offset_keys();
    let infos: Vec<&TensorInfo> = names.iter().filter_map(|name| metadata.info(name)).collect();
    let dtypes = infos.iter().map(|info| {
        let own = DTYPES.iter().find(|(_, dtype)| *dtype == info.dtype);
        own.map_or_else(|| info.dtype.to_string(), |(own, _)| own.name().into())
    });
    let shapes = infos.iter().map(|info| info.shape.iter().map(|&size| size as f64).collect::<Vec<_>>());
    let own = metadata.metadata().as_ref().and_then(|all| all.get(OWN));
    list!(
        dtypes = dtypes.collect::<Vec<String>>(),
        shapes = List::from_values(shapes),
        begin = infos.iter().map(|info| info.data_offsets.0 as f64).collect::<Vec<_>>(),
        end = infos.iter().map(|info| info.data_offsets.1 as f64).collect::<Vec<_>>(),
        own = own.map_or_else(|| ().into(), Robj::from),
        names = names
    )
}

/// A nested list of strings and `NULL` as JSON: a list with names is an object, one without is an array.
#[extendr]
pub fn anvil_json_write(x: Robj) -> String {
    fn value(x: &Robj) -> Value {
        // To extendr, NULL is a list.
        if x.is_null() {
            return Value::Null;
        }
        if let Some(list) = x.as_list() {
            let items = list.iter().map(|(name, x)| (name.to_string(), value(&x)));
            return match list.names() {
                Some(_) => Value::Object(items.collect()),
                None => Value::Array(items.map(|(_, x)| x).collect()),
            };
        }
        x.as_str().map_or(Value::Null, |text| Value::String(text.into()))
    }
    value(&x).to_string()
}

/// The nested list that a JSON text holds, of strings and `NULL`; another value in it is `FALSE`. `FALSE` for
/// what is no JSON.
#[extendr]
pub fn anvil_json_read(text: &str) -> Robj {
    fn list(value: Value) -> Robj {
        match value {
            Value::Null => ().into(),
            Value::String(text) => text.into(),
            Value::Array(items) => List::from_values(items.into_iter().map(list)).into(),
            Value::Object(items) if items.is_empty() => {
                List::from_names_and_values([""; 0], [(); 0]).map_or_else(|_| ().into(), Robj::from)
            }
            Value::Object(items) => {
                let (names, items): (Vec<String>, Vec<Robj>) =
                    items.into_iter().map(|(name, x)| (name, list(x))).unzip();
                List::from_names_and_values(names, items).map_or_else(|_| ().into(), Robj::from)
            }
            Value::Bool(_) | Value::Number(_) => false.into(),
        }
    }
    serde_json::from_str(text).map_or_else(|_| false.into(), list)
}

extendr_module! {
    mod tensor_files;
    fn anvil_safetensors_header;
    fn anvil_safetensors_read;
    fn anvil_json_write;
    fn anvil_json_read;
}
