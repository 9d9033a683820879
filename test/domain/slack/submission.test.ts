import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { allChosenIn, chosenIn, typedIn } from '../../../domain/slack/submission.js';

const view = (values: unknown) => ({ id: 'V1', privateMetadata: '', values });

describe('what a modal was submitted with', () => {
  it('is read by block and action', () => {
    const values = {
      a: { x: { type: 'plain_text_input', value: 'typed' } },
      b: { y: { type: 'radio_buttons', selected_option: { value: 'chosen' } } },
      c: { z: { type: 'multi_static_select', selected_options: [{ value: 'one' }, { value: 'two' }] } },
    };
    expect(typedIn(view(values), 'a', 'x')).toBe('typed');
    expect(chosenIn(view(values), 'b', 'y')).toBe('chosen');
    expect(allChosenIn(view(values), 'c', 'z')).toEqual(['one', 'two']);
    expect([typedIn(view(values), 'b', 'y'), chosenIn(view(values), 'a', 'x'), allChosenIn(view(values), 'a', 'x')]).toEqual([
      null,
      null,
      [],
    ]);
  });

  it('is nothing where the values have another shape, and never a throw', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), (values, inner) => {
        for (const all of [
          values,
          { a: inner },
          { a: { x: inner } },
          { a: { x: { value: inner, selected_option: inner, selected_options: [inner] } } },
        ]) {
          const typed = typedIn(view(all), 'a', 'x');
          const chosen = chosenIn(view(all), 'a', 'x');
          expect([typed === null || typeof typed === 'string', chosen === null || typeof chosen === 'string']).toEqual([
            true,
            true,
          ]);
          allChosenIn(view(all), 'a', 'x');
        }
      }),
    );
    expect(allChosenIn(view({ a: { x: { selected_options: [{ value: 1 }] } } }), 'a', 'x')).toBeNull();
  });

  it('has nothing of what all objects have', () => {
    expect(typedIn(view({}), 'constructor', 'name')).toBeNull();
    expect(typedIn(view({ a: 'text' }), 'a', 'length')).toBeNull();
  });
});
