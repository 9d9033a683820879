import { type ResultColumns, type ValueWriter, writeJson, writeText } from '../values.js';
import type { MysqlColumn } from './client.js';

const BINARY = 63;
const UNSIGNED = 32;
const ENUM = 256;
const SET = 2048;
const MAX_SIGNED = 2n ** 63n - 1n;

/** Names, types and converters of the columns of a result (agent-process.md section 10). */
export function describeMysqlColumns(columns: readonly MysqlColumn[]): ResultColumns {
  const infos = columns.map(typeOf);
  return { names: columns.map((one) => one.name), types: infos.map((one) => one.name), writers: infos.map((one) => one.write) };
}

interface ColumnType {
  name: string;
  write: ValueWriter;
}

/** By the protocol's type numbers; text without a character set is binary. */
function typeOf(column: MysqlColumn): ColumnType {
  const integer = integers[column.columnType];
  if (integer !== undefined) {
    const isFlag = column.columnType === 1 && column.columnLength === 1;
    const name = column.flags & UNSIGNED ? `${integer} unsigned` : integer;
    return isFlag ? { name: 'tinyint(1)', write: writeFlag } : { name, write: writeInteger };
  }
  const plain = plainTypes[column.columnType];
  if (plain !== undefined) return plain;
  if (column.extendedFormat === 'json') return { name: 'json', write: writeJson };
  if (column.extendedTypeName !== undefined) return { name: column.extendedTypeName, write: writeText };
  const isBinary = column.characterSet === BINARY;
  return { name: textName(column, isBinary), write: isBinary ? writeHex : writeText };
}

function textName({ columnType, columnLength, flags }: MysqlColumn, isBinary: boolean): string {
  if (flags & ENUM || columnType === 247) return 'enum';
  if (flags & SET || columnType === 248) return 'set';
  if (columnType === 254) return isBinary ? 'binary' : 'char';
  if (columnType === 253 || columnType === 15) return isBinary ? 'varbinary' : 'varchar';
  // The server gives the length in bytes; for text, of its widest characters.
  const size = columnLength < 1024 ? 'tiny' : columnLength < 2 ** 18 ? '' : columnLength < 2 ** 26 ? 'medium' : 'long';
  return `${size}${isBinary ? 'blob' : 'text'}`;
}

/** ZEROFILL pads numbers, which JSON does not allow. */
const writeInteger: ValueWriter = (bytes) => {
  const digits = bytes.toString('latin1').replace(/^(-?)0+(?=\d)/, '$1');
  return digits.length > 18 && BigInt(digits) > MAX_SIGNED ? `"${digits}"` : digits;
};

const writeFlag: ValueWriter = (bytes) => {
  const digits = writeInteger(bytes);
  return digits === '0' ? 'false' : digits === '1' ? 'true' : digits;
};

const writeFloat: ValueWriter = (bytes) => {
  const text = bytes.toString('latin1').replace(/^(-?)0+(?=\d)/, '$1');
  return /^-?\d+(\.\d+)?(e[+-]?\d+)?$/i.test(text) ? text : writeText(bytes);
};

const writeHex: ValueWriter = (bytes) => `"\\\\x${bytes.toString('hex')}"`;

const integers: Readonly<Record<number, string>> = { 1: 'tinyint', 2: 'smallint', 3: 'int', 8: 'bigint', 9: 'mediumint' };

const plainTypes: Readonly<Record<number, ColumnType>> = {
  0: { name: 'decimal', write: writeText },
  4: { name: 'float', write: writeFloat },
  5: { name: 'double', write: writeFloat },
  6: { name: 'null', write: writeText },
  7: { name: 'timestamp', write: writeText },
  10: { name: 'date', write: writeText },
  11: { name: 'time', write: writeText },
  12: { name: 'datetime', write: writeText },
  13: { name: 'year', write: writeText },
  14: { name: 'date', write: writeText },
  16: { name: 'bit', write: writeHex },
  242: { name: 'vector', write: writeHex },
  245: { name: 'json', write: writeJson },
  246: { name: 'decimal', write: writeText },
  255: { name: 'geometry', write: writeHex },
};
