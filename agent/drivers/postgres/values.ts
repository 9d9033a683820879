import { type ResultColumns, type ValueWriter, writeJson, writeText } from '../values.js';
import { readArray } from './array.js';
import type { Column } from './exchange.js';
import type { PostgresSession } from './session.js';

/** Names, types and converters of a result's columns (agent-process.md section 10); asks the server about types it does not know. */
export async function describeColumns(columns: readonly Column[], session: PostgresSession): Promise<ResultColumns> {
  const unknown = [...new Set(columns.map((one) => one.typeOid))].filter((oid) => !builtIn.has(oid));
  const looked = unknown.length > 0 ? await lookUpTypes(unknown, session) : new Map<number, TypeInfo>();
  const infos = columns.map((one) => builtIn.get(one.typeOid) ?? looked.get(one.typeOid) ?? unknownType);
  return { names: columns.map((one) => one.name), types: infos.map((one) => one.name), writers: infos.map(writerOf) };
}

interface TypeInfo {
  name: string;
  isArray: boolean;
  /** The built-in type whose form the values or elements have; empty for a type of the database's own, which may be named like a built-in one. */
  form: string;
  delimiter: string;
}

const unknownType: TypeInfo = { name: 'unknown', isArray: false, form: '', delimiter: ',' };

function writerOf({ isArray, form, delimiter }: TypeInfo): ValueWriter {
  const ofAscii = asciiWriters.get(form);
  const isJson = form === 'json' || form === 'jsonb';
  const ofBytes = isJson ? writeJson : writeText;
  if (!isArray) return ofAscii ? (bytes) => ofAscii(bytes.toString('latin1')) : ofBytes;
  // Bytes for each of millions of tiny elements take most of a second, in which no heartbeat is sent.
  const element = (text: string) =>
    isJson || beyondAscii.test(text) ? ofBytes(Buffer.from(text, 'latin1')) : JSON.stringify(text);
  // Split as bytes, since all significant characters are ASCII: an element need not be UTF-8.
  return (bytes) => readArray(bytes.toString('latin1'), delimiter, ofAscii ?? element) ?? writeText(bytes);
}

const beyondAscii = /[\x80-\xff]/;

const writeDigits = (text: string) => text;

const writeFloat = (text: string) => (/^(NaN|-?Infinity)$/.test(text) ? `"${text}"` : text);

/** For types whose text is always ASCII. */
const asciiWriters = new Map<string, (text: string) => string>([
  ['int2', writeDigits],
  ['int4', writeDigits],
  ['int8', writeDigits],
  ['float4', writeFloat],
  ['float8', writeFloat],
  ['bool', (text) => (text === 't' ? 'true' : 'false')],
]);

const scalarOids =
  'bool 16,bytea 17,char 18,name 19,int8 20,int2 21,int2vector 22,int4 23,regproc 24,text 25,oid 26,tid 27,xid 28,cid 29,oidvector 30,' +
  'json 114,xml 142,point 600,lseg 601,path 602,box 603,polygon 604,line 628,cidr 650,float4 700,float8 701,unknown 705,circle 718,' +
  'macaddr8 774,money 790,macaddr 829,inet 869,bpchar 1042,varchar 1043,date 1082,time 1083,timestamp 1114,timestamptz 1184,' +
  'interval 1186,timetz 1266,bit 1560,varbit 1562,numeric 1700,refcursor 1790,regclass 2205,regtype 2206,record 2249,void 2278,' +
  'uuid 2950,pg_lsn 3220,tsvector 3614,tsquery 3615,jsonb 3802,int4range 3904,numrange 3906,tsrange 3908,tstzrange 3910,daterange 3912,' +
  'int8range 3926,jsonpath 4072';
const arrayOids =
  'xml 143,json 199,cidr 651,money 791,bool 1000,bytea 1001,char 1002,name 1003,int2 1005,int4 1007,text 1009,bpchar 1014,varchar 1015,' +
  'int8 1016,float4 1021,float8 1022,oid 1028,macaddr 1040,inet 1041,timestamp 1115,date 1182,time 1183,timestamptz 1185,interval 1187,' +
  'numeric 1231,timetz 1270,bit 1561,varbit 1563,uuid 2951,jsonb 3807';

/** Types with the same numbers in every PostgreSQL. */
const builtIn = new Map<number, TypeInfo>([
  ...pairs(scalarOids).map(([name, oid]): [number, TypeInfo] => [oid, { name, isArray: false, form: name, delimiter: ',' }]),
  ...pairs(arrayOids).map(([name, oid]): [number, TypeInfo] => [
    oid,
    { name: `${name}[]`, isArray: true, form: name, delimiter: ',' },
  ]),
]);

function pairs(list: string): [string, number][] {
  return list.split(',').map((entry) => {
    const [name, oid] = entry.split(' ');
    return [name as string, Number(oid)];
  });
}

const TYPE_QUERY = `
with recursive element as (
  select t.oid as array_oid, e.oid, e.typname, e.typnamespace, e.typtype, e.typbasetype
  from pg_catalog.pg_type t join pg_catalog.pg_type e on e.oid = t.typelem
  -- The category of record[] is that of pseudo-types.
  where t.oid = any ($1::oid[]) and (t.typcategory = 'A' or t.typname = '_record')
  union all
  select element.array_oid, b.oid, b.typname, b.typnamespace, b.typtype, b.typbasetype
  from element join pg_catalog.pg_type b on b.oid = element.typbasetype where element.typtype = 'd'
)
select t.oid, t.typname, t.typdelim, element.oid,
       case when element.typnamespace = 'pg_catalog'::regnamespace::oid then element.typname end,
       (select e.typname from pg_catalog.pg_type e where e.oid = t.typelem)
from pg_catalog.pg_type t left join element on element.array_oid = t.oid and element.typtype <> 'd'
where t.oid = any ($1::oid[])`;

async function lookUpTypes(oids: readonly number[], session: PostgresSession): Promise<Map<number, TypeInfo>> {
  const rows = await session.query(TYPE_QUERY, [`{${oids.join(',')}}`]);
  return new Map(
    rows.map(([oid, name, delimiter, element, form, shown]) => {
      const isArray = element != null;
      return [
        Number(oid),
        { name: isArray ? `${shown}[]` : (name ?? 'unknown'), isArray, form: form ?? '', delimiter: delimiter ?? ',' },
      ];
    }),
  );
}
