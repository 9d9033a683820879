import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { useLocation } from 'preact-iso/router';
import { may, mayAsk } from '../state/session.js';
import { Banner } from './banner.js';
import { KeyHelp } from './key-help.js';
import { Navigation } from './navigation.js';
import { actionIn } from './press.js';
import { Replaced } from './replaced.js';
import { Waiting } from './waiting.js';

/** What is around every page: the way to the others, and what concerns all. */
export function Frame({ children }: { children: ComponentChildren }) {
  const { route } = useLocation();
  const [showsKeys, setShowsKeys] = useState(false);
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      const action = actionIn(event);
      if (action === 'help') setShowsKeys(true);
      else if (action === 'new' && mayAsk()) route('/console/new');
      else return;
      event.preventDefault();
    };
    addEventListener('keydown', press);
    return () => removeEventListener('keydown', press);
  }, [route]);
  return (
    <div class="frame">
      {may('request.view') && <Waiting />}
      <a class="skip" href="#main">
        Skip to the page
      </a>
      <Navigation onKeys={() => setShowsKeys(true)} />
      <div class="body">
        <Banner />
        <Replaced />
        <main id="main" tabIndex={-1}>
          {children}
        </main>
      </div>
      {showsKeys && <KeyHelp onClose={() => setShowsKeys(false)} />}
    </div>
  );
}
