import { useMemo } from 'preact/hooks';
import { visible } from '../../lib/visible.js';
import { Field } from './field.js';
import { Text } from './text.js';

/** A form field: free text, one choice from a list (or none), or several with `isMany`. */
export interface FieldOf {
  name: string;
  label: string;
  choices?: readonly Choice[];
  isMany?: boolean;
  /** What a text often is. */
  suggested?: readonly string[];
  isRequired?: boolean;
  placeholder?: string;
  /** The bounds of a number. */
  within?: readonly [min: number, max: number];
}

/** A value and what it is called. */
export type Choice = readonly [value: string, word: string];

/** What stands in the fields, by their names. */
export type Values = Readonly<Record<string, string | readonly string[]>>;

/** The fields of a form, which reads them by their names. */
export function Fields({ of, values = {} }: { of: readonly FieldOf[]; values?: Values }) {
  return (
    <>
      {of.map(({ suggested, ...field }) => (
        <One key={field.name} field={field} value={values[field.name]} list={suggested && listOf(field.name)} />
      ))}
      {of.map(
        ({ name, suggested }) =>
          suggested && (
            <datalist key={name} id={listOf(name)}>
              {suggested.map((one) => (
                <option key={one} value={one} />
              ))}
            </datalist>
          ),
      )}
    </>
  );
}

const listOf = (name: string) => `names-${name}`;

/** The texts of a form, of each name the last. */
export const textsIn = (given: FormData): Record<string, string> =>
  Object.fromEntries([...given].map(([name, value]) => [name, String(value).trim()]));

export const chosenIn = (given: FormData, name: string): string[] => given.getAll(name).map(String);

interface OneProps {
  field: Omit<FieldOf, 'suggested'>;
  value: string | readonly string[] | undefined;
  list: string | undefined;
}

/** Keeps what the user typed or chose until one of the props, such as the intended value, changes. */
function One(props: OneProps) {
  return useMemo(() => <Control {...props} />, [JSON.stringify(props)]);
}

function Control({ field, value, list }: OneProps) {
  const { name, label, choices, isMany, isRequired, placeholder, within } = field;
  if (choices !== undefined && isMany) return <Many name={name} label={label} choices={choices} chosen={[value ?? []].flat()} />;
  const text = value === undefined ? undefined : String(value);
  const number = within === undefined ? {} : ({ type: 'number', min: within[0], max: within[1] } as const);
  return (
    <Field label={label}>
      {(id) =>
        choices === undefined ? (
          <input
            id={id}
            name={name}
            list={list}
            required={isRequired ?? false}
            placeholder={placeholder}
            {...number}
            {...standing(text)}
          />
        ) : (
          <Chosen id={id} name={name} choices={choices} value={text ?? ''} />
        )
      }
    </Field>
  );
}

/** Sets `defaultValue` too, so that resetting the form restores the value. */
const standing = (value: string | undefined) => ({ value, defaultValue: value });

interface ChosenProps {
  id: string;
  name: string;
  choices: readonly Choice[];
  value: string;
}

/** A value that is not on the list, such as one of an address, is shown as it is. */
function Chosen({ id, name, choices, value }: ChosenProps) {
  const isOther = value !== '' && !choices.some(([known]) => known === value);
  const offered: Choice[] = [['', 'any'], ...choices, ...(isOther ? [[value, value] as const] : [])];
  return (
    <select id={id} name={name} value={value}>
      {offered.map(([one, word]) => (
        <option key={one} value={one}>
          {visible(word)}
        </option>
      ))}
    </select>
  );
}

interface ManyProps {
  name: string;
  label: string;
  choices: readonly Choice[];
  chosen: readonly string[];
}

function Many({ name, label, choices, chosen }: ManyProps) {
  return (
    <fieldset class="many">
      <legend>{label}</legend>
      <div class="checks">
        {choices.map(([value, word]) => (
          <label key={value}>
            <input
              type="checkbox"
              name={name}
              value={value}
              checked={chosen.includes(value)}
              defaultChecked={chosen.includes(value)}
            />
            <Text of={word} />
          </label>
        ))}
        {choices.length === 0 && <span class="quiet">there are none</span>}
      </div>
    </fieldset>
  );
}
