export interface ScriptStatement {
  text: string;
  /** What follows a COPY … FROM STDIN, up to `\.`. */
  data: string;
}

/**
 * Cuts a script into statements by psql's rules: semicolons outside of quotes, comments, parentheses and BEGIN ATOMIC; backslash
 * commands outside of these; data after COPY. Fills in the variables of `\set` and `\getenv`. Ignores conditions and all other
 * commands.
 */
export function cutScript(script: string, environment: Readonly<Record<string, string>>): ScriptStatement[] {
  const variables = new Map<string, string>();
  const statements: ScriptStatement[] = [];
  let text = '';
  let depth = 0;
  let at = 0;
  const end = (): void => {
    if (text.trim() !== '') statements.push({ text: text.trim(), data: '' });
    text = '';
    depth = 0;
  };
  while (at < script.length) {
    const piece = pieceAt(script, at);
    at += piece.length;
    const isWord = /^\w/.test(piece);
    if (piece === ';' && depth === 0) {
      end();
      const copied = copiesFromClient.test(statements.at(-1)?.text ?? '') ? /\n([\s\S]*?)^\\\.(\n|$)/my : null;
      if (copied !== null) {
        copied.lastIndex = at;
        const found = copied.exec(script);
        statements.at(-1)!.data = found?.[1] ?? '';
        at += found?.[0].length ?? 0;
      }
    } else if (piece.startsWith('\\;')) text += ';';
    else if (piece.startsWith('\\')) {
      if (sends.test(piece)) end();
      else setVariable(piece, variables, environment);
    } else if (piece.startsWith(':') && piece.length > 1) text += fillIn(piece, variables);
    else {
      if (piece === '(' || (isWord && /^(atomic|case)$/i.test(piece) && isInBody(text, piece))) depth += 1;
      else if (piece === ')' || (isWord && /^end$/i.test(piece) && isInBody(text, 'case'))) depth = Math.max(0, depth - 1);
      text += piece;
    }
  }
  end();
  return statements;
}

const copiesFromClient = /^(?:--[^\n]*\n|\/\*[\s\S]*?\*\/|\s)*copy\b[\s\S]*\bfrom\s+stdin\b/i;
/** Commands that send what was written so far. */
const sends = /^\\(g|gx|gset|gexec|gdesc|crosstabview|bind|parse|startpipeline|endpipeline)\b/;

/** Quoted text, a comment, a variable, a command to its line's end, a word, or one character. */
const pieces = new RegExp(
  [
    String.raw`[eE]'(?:\\[\s\S]|''|[^'\\])*'|'(?:''|[^'])*'|"(?:""|[^"])*"`,
    String.raw`\$(?<tag>[A-Za-z_\x80-\uffff][\w\x80-\uffff]*)?\$[\s\S]*?\$\k<tag>\$`,
    String.raw`--[^\n]*|::|:'\w+'|:"\w+"|:\w+|\\;|\\[^\n]*|[\w$\x80-\uffff]+`,
  ].join('|'),
  'y',
);

function pieceAt(script: string, at: number): string {
  if (script.startsWith('/*', at)) return blockComment(script, at);
  pieces.lastIndex = at;
  return pieces.exec(script)?.[0] ?? script.charAt(at);
}

function blockComment(script: string, start: number): string {
  const marks = /\/\*|\*\//g;
  marks.lastIndex = start;
  let depth = 0;
  for (let mark = marks.exec(script); mark !== null; mark = marks.exec(script)) {
    depth += mark[0] === '/*' ? 1 : -1;
    if (depth === 0) return script.slice(start, marks.lastIndex);
  }
  return script.slice(start);
}

/** Bodies in standard SQL hold semicolons. The words that open and close them mean that only here. */
function isInBody(text: string, word: string): boolean {
  return /^atomic$/i.test(word) ? /\bbegin\s+$/i.test(text) : /\bbegin\s+atomic\b/i.test(text);
}

function setVariable(command: string, variables: Map<string, string>, environment: Readonly<Record<string, string>>): void {
  const [name, variable = '', ...values] = command.slice(1).match(/'[^']*'|\S+/g) ?? [];
  if (name === 'getenv') variables.set(variable, environment[values[0] ?? ''] ?? '');
  if (name === 'set')
    variables.set(
      variable,
      values.map((value) => (value.startsWith(':') ? fillIn(value, variables) : value.replace(/^'|'$/g, ''))).join(''),
    );
}

/** An unknown variable stays as written, as in psql. */
function fillIn(piece: string, variables: ReadonlyMap<string, string>): string {
  const value = variables.get(piece.replace(/[:'"]/g, ''));
  if (value === undefined) return piece;
  const quote = piece.charAt(1);
  return quote === "'" || quote === '"' ? quote + value.replaceAll(quote, quote + quote) + quote : value;
}
