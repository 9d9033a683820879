import { visible } from '../../lib/visible.js';
import type { LintFinding } from '../migrations/lint.js';
import { version } from '../version.js';
import type { Style } from './style.js';

/** `migrations/2_x.sql:4: warn drop_table: ...`, a line for each finding, as compilers write them. */
export function lintText(findings: readonly LintFinding[], style: Style): string {
  return findings
    .map(({ file, line, action, code, message }) => {
      const painted = action === 'block' ? style.red(action) : style.yellow(action);
      return `${visible(file)}:${line}: ${painted} ${visible(code)}: ${visible(message)}\n`;
    })
    .join('');
}

/** Workflow commands that GitHub shows as annotations of the file. Nothing in a name or a message can begin another command. */
export function githubText(findings: readonly LintFinding[]): string {
  return findings
    .map(({ file, line, action, code, message }) => {
      const level = action === 'block' ? 'error' : 'warning';
      return `::${level} file=${property(file)},line=${line},title=${property(code)}::${escaped(visible(message))}\n`;
    })
    .join('');
}

const escaped = (text: string) => text.replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A');
const property = (text: string) => escaped(text).replaceAll(':', '%3A').replaceAll(',', '%2C');

/** SARIF 2.1.0, for code scanning. */
export function sarifText(findings: readonly LintFinding[]): string {
  const rules = [...new Set(findings.map(({ code }) => code))].map((id) => ({ id }));
  const results = findings.map(({ file, line, action, code, message }) => ({
    ruleId: code,
    level: action === 'block' ? 'error' : 'warning',
    message: { text: message },
    locations: [{ physicalLocation: { artifactLocation: { uri: uriOf(file) }, region: { startLine: line } } }],
  }));
  const run = { tool: { driver: { name: 'svc', version, rules } }, results };
  return `${JSON.stringify({ $schema: 'https://json.schemastore.org/sarif-2.1.0.json', version: '2.1.0', runs: [run] })}\n`;
}

const uriOf = (path: string) => path.split(/[\\/]/).map(encodeURIComponent).join('/');
