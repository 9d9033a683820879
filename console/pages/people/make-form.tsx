import { useState } from 'preact/hooks';
import { type FieldOf, Fields, type Values } from '../../parts/fields.js';
import { Problem } from '../../parts/problem.js';
import { Secret } from './secret.js';

interface MakeFormProps {
  title: string;
  fields: readonly FieldOf[];
  values?: Values;
  make: (given: FormData) => Promise<Made>;
  onMade: () => void;
}

interface Made {
  token: string;
  /** What the token is, as the title of the dialog that shows it once. */
  of: string;
}

/** A form that makes something with a token. */
export function MakeForm({ title, fields, values = {}, make, onMade }: MakeFormProps) {
  const [error, setError] = useState<Error | null>(null);
  const [made, setMade] = useState<Made | null>(null);
  const [isBusy, setIsBusy] = useState(false);
  const submit = async (form: HTMLFormElement) => {
    setError(null);
    setIsBusy(true);
    try {
      setMade(await make(new FormData(form)));
      form.reset();
      onMade();
    } catch (failure) {
      setError(failure as Error);
    }
    setIsBusy(false);
  };
  return (
    <details class="card">
      <summary>{title}</summary>
      <form
        class="filters"
        onSubmit={(event) => {
          event.preventDefault();
          void submit(event.currentTarget);
        }}
      >
        <Fields of={fields} values={values} />
        <div class="actions">
          <button type="submit" class="primary" disabled={isBusy}>
            {isBusy ? 'Creating …' : 'Create'}
          </button>
        </div>
      </form>
      <Problem error={error} />
      {made !== null && <Secret {...made} onClose={() => setMade(null)} />}
    </details>
  );
}
