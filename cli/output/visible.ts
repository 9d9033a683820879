/** The text with every character shown that could steer a terminal or reorder what stands beside it (CL-13); line feeds too. */
export function visible(text: string): string {
  return text.replace(steering, shown);
}

/** As `visible`, but lines stay lines and tabs become two blanks, for SQL and messages printed as blocks. */
export function visibleLines(text: string): string {
  return text.replace(/\r\n/g, '\n').replace(/\t/g, '  ').split('\n').map(visible).join('\n');
}

const steering = /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g;

function shown(character: string): string {
  if (character === '\n') return '\\n';
  if (character === '\r') return '\\r';
  if (character === '\t') return '\\t';
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}
