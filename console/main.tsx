import { render } from 'preact';
import { App } from './app.js';
import { keepFocus } from './frame/focus.js';
import { isAway } from './http/reach.js';
import './state/appearance.js';
import { follow } from './state/live.js';
import { begin, heedLinks } from './state/session.js';
import { keepTitle } from './state/title.js';

const againMs = 3000;

/** A server that is away, or has no time, is asked again until it answers; meanwhile the page says so. */
const untilKnown = (): Promise<void> =>
  begin().catch(() => {
    isAway.value = true;
    return new Promise((resolve) => setTimeout(() => resolve(untilKnown()), againMs));
  });

keepTitle();
keepFocus();
follow();
heedLinks();
render(<App />, document.getElementById('page')!);
void untilKnown();
