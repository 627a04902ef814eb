import { RollcallClient } from '@rollcall/client';
import { RollcallProvider } from '@rollcall/react';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { App, type Person } from './app.tsx';

const user = new URLSearchParams(location.search).get('user') ?? '';
const { service, people } = (await (await fetch('/people')).json()) as {
  readonly service: string;
  readonly people: readonly Person[];
};

const client = new RollcallClient({
  url: service,
  token: async () => (await fetch(`/token?user=${user}`)).text(),
});

createRoot(document.querySelector('#root') as Element).render(
  <StrictMode>
    <RollcallProvider client={client}>
      <App people={people} user={user} />
    </RollcallProvider>
  </StrictMode>,
);
