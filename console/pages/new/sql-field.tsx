import type { ComponentType } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { EditorProps } from './editor.js';

/** The editor, which is loaded only here because it is larger than all the rest; until it is there, a plain field. */
export function SqlField(props: EditorProps) {
  const [Editor, setEditor] = useState<ComponentType<EditorProps> | null>(null);
  useEffect(() => {
    let isWanted = true;
    import('./editor.js').then(
      (module) => isWanted && setEditor(() => module.Editor),
      () => undefined,
    );
    return () => {
      isWanted = false;
    };
  }, []);
  if (Editor !== null) return <Editor {...props} />;
  const { text, onChange, label } = props;
  return (
    <textarea
      class="plain-sql"
      rows={10}
      spellcheck={false}
      aria-label={label}
      value={text}
      onInput={(event) => onChange(event.currentTarget.value)}
    />
  );
}
