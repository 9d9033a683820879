/** Words before the first colon, or alone. Quotes, brackets and signs are where messages quote values. */
const leading = /^[A-Za-z0-9][A-Za-z0-9 _.-]{0,127}(?=:|$)/;
const sqlState = /\bSQLSTATE[ =[]{0,2}([0-9A-Z]{5})\b/;

/**
 * What audit events and messages may tell of the error text of a run (AU-53). The text may come from any agent: where it has neither such words nor a
 * SQLSTATE, the answer is empty, because it could quote data.
 */
export const errorClass = (text: string): string => leading.exec(text)?.[0] ?? sqlState.exec(text)?.[1] ?? '';
