import { MySQL, PostgreSQL, type SQLNamespace, sql } from '@codemirror/lang-sql';
import { HighlightStyle, syntaxHighlighting } from '@codemirror/language';
import { type Diagnostic, setDiagnostics } from '@codemirror/lint';
import { Compartment } from '@codemirror/state';
import { tags } from '@lezer/highlight';
import { basicSetup, EditorView } from 'codemirror';
import { useEffect, useRef } from 'preact/hooks';

export interface Mark {
  /** From 1. */
  line: number;
  severity: 'error' | 'warning';
  message: string;
}

export interface EditorProps {
  /** What stands there at first. */
  text: string;
  onChange: (text: string) => void;
  dialect: string | null;
  /** What completion offers. */
  schema: SQLNamespace;
  marks: readonly Mark[];
  label: string;
}

/**
 * The editor lives in a shadow root, where its styles are adopted sheets: the page's policy forbids style elements (CO-2). Tab leaves
 * it, as in every other field.
 */
export function Editor({ text, onChange, dialect, schema, marks, label }: EditorProps) {
  const host = useRef<HTMLDivElement>(null);
  const editor = useRef<{ view: EditorView; language: Compartment } | null>(null);
  const changed = useRef(onChange);
  changed.current = onChange;
  useEffect(() => {
    const root = host.current!.shadowRoot ?? host.current!.attachShadow({ mode: 'open' });
    const language = new Compartment();
    const view = new EditorView({
      doc: text,
      parent: root,
      root,
      extensions: [
        plain(label),
        language.of([]),
        EditorView.updateListener.of(({ docChanged, state }) => docChanged && changed.current(state.doc.toString())),
      ],
    });
    editor.current = { view, language };
    return () => view.destroy();
  }, []);
  useEffect(() => {
    const { view, language } = editor.current!;
    const extension = sql({ dialect: dialect === 'mysql' ? MySQL : PostgreSQL, schema, upperCaseKeywords: true });
    view.dispatch({ effects: language.reconfigure(extension) });
  }, [dialect, schema]);
  useEffect(() => {
    const { view } = editor.current!;
    view.dispatch(
      setDiagnostics(
        view.state,
        marks.map((mark) => diagnosticOf(view, mark)),
      ),
    );
  }, [marks]);
  return <div class="editor" ref={host} />;
}

const plain = (label: string) => [
  basicSetup,
  syntaxHighlighting(colours),
  theme,
  EditorView.lineWrapping,
  EditorView.contentAttributes.of({ 'aria-label': label, spellcheck: 'false' }),
];

function diagnosticOf(view: EditorView, { line, severity, message }: Mark): Diagnostic {
  const { from, to } = view.state.doc.line(Math.min(Math.max(1, line), view.state.doc.lines));
  return { from, to, severity, message };
}

const colours = HighlightStyle.define([
  { tag: tags.keyword, color: 'var(--sql-keyword)', fontWeight: '560' },
  { tag: [tags.string, tags.special(tags.string)], color: 'var(--sql-text)' },
  { tag: [tags.number, tags.bool, tags.null], color: 'var(--sql-number)' },
  { tag: tags.comment, color: 'var(--sql-comment)', fontStyle: 'italic' },
]);

const theme = EditorView.theme({
  '&': { color: 'var(--text)', backgroundColor: 'var(--surface)', borderRadius: '6px', fontSize: '13px' },
  // The editor sets its own class for the focus 10 ms late.
  '&:focus-within, &.cm-focused': { outline: '2px solid var(--accent)', outlineOffset: '0' },
  '.cm-scroller': { fontFamily: 'var(--mono)', lineHeight: '1.6', minHeight: '190px', maxHeight: '52vh' },
  '.cm-content': { caretColor: 'var(--text)', minHeight: '190px' },
  '.cm-cursor': { borderLeftColor: 'var(--text)' },
  '.cm-gutters': { color: 'var(--quiet)', backgroundColor: 'transparent', border: '0' },
  '.cm-activeLine, .cm-activeLineGutter': { backgroundColor: 'transparent' },
  '&.cm-focused .cm-selectionBackground, .cm-selectionBackground, ::selection': {
    backgroundColor: 'var(--accent-ground) !important',
  },
  '.cm-tooltip': { color: 'var(--text)', backgroundColor: 'var(--surface)', border: '1px solid var(--line-strong)' },
  '.cm-tooltip-autocomplete ul li[aria-selected]': { color: 'var(--button-text)', backgroundColor: 'var(--button)' },
  '.cm-panels': { color: 'var(--text)', backgroundColor: 'var(--sunken)' },
});
