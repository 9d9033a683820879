/** RFC 4180. The text NULL is quoted, since without quotes it is no value; an empty field alone on its line is, because readers skip blank lines. */
export function csvField(text: string, alone: boolean): string {
  return /[",\r\n]/.test(text) || text === 'NULL' || (alone && text === '') ? `"${text.replaceAll('"', '""')}"` : text;
}
