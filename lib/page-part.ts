/** The page with other text between `<!-- name -->` and `<!-- end of name -->`. */
export function withPart(page: string, name: string, text: string): string {
  const begin = `<!-- ${name} -->\n`;
  const [before = '', rest = ''] = page.split(begin);
  return `${before}${begin}\n${text}\n${rest.slice(rest.indexOf(`<!-- end of ${name} -->`))}`;
}
