/** A user of the example. Pictures are drawn here, so that the page loads nothing from elsewhere. */
export interface Person {
  readonly id: string;
  readonly name: string;
  /** Two colours, from one corner of the picture to the other. */
  readonly colours: readonly [string, string];
}

export const PEOPLE: readonly Person[] = [
  { id: 'ada', name: 'Ada Okafor', colours: ['#f97362', '#c2255c'] },
  { id: 'bruno', name: 'Bruno Sato', colours: ['#4dabf7', '#3b5bdb'] },
  { id: 'carmen', name: 'Carmen Ruiz', colours: ['#fcc419', '#e8590c'] },
  { id: 'dmitri', name: 'Dmitri Lund', colours: ['#38d9a9', '#087f5b'] },
  { id: 'esme', name: 'Esme Tran', colours: ['#b197fc', '#7048e8'] },
  { id: 'femi', name: 'Femi Adeyemi', colours: ['#f783ac', '#a61e4d'] },
];

/** The picture of a person: their initials on their colours. */
export function avatar({ name, colours: [from, to] }: Person): string {
  const initials = name.replaceAll(/(\S)\S*\s*/g, '$1');
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 80 80">
  <linearGradient id="g" x2="1" y2="1"><stop stop-color="${from}"/><stop offset="1" stop-color="${to}"/></linearGradient>
  <rect width="80" height="80" fill="url(#g)"/>
  <circle cx="62" cy="12" r="30" fill="#fff" opacity=".14"/>
  <text x="40" y="41" fill="#fff" font-family="system-ui, sans-serif" font-size="27" font-weight="600"
    text-anchor="middle" dominant-baseline="central">${initials}</text>
</svg>`;
}
