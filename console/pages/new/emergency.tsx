import { Field } from '../../parts/field.js';

/** Nobody approves an emergency, so it has to be meant: the pair is typed by hand. */
export function Emergency({ pair, typed, onType }: { pair: string; typed: string; onType: (text: string) => void }) {
  return (
    <div class="problem">
      <p>
        <strong>This runs on {pair} at once.</strong> Nobody approves it. The audit log names it a break-glass, and everybody who
        is to be told of such is told.
      </p>
      <Field label={`Type ${pair} to confirm`}>
        {(id) => (
          <input
            id={id}
            autocomplete="off"
            spellcheck={false}
            value={typed}
            onInput={(event) => onType(event.currentTarget.value)}
          />
        )}
      </Field>
    </div>
  );
}
