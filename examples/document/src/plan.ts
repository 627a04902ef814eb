/** The document. */
export interface Section {
  readonly id: string;
  readonly title: string;
  readonly text: string;
}

export const PLAN: readonly Section[] = [
  {
    id: 'summary',
    title: 'In short',
    text: 'Aurora opens its dome to the public on the first clear night of October. Until then the mirror has to be aligned, the road has to be passable, and two hundred people have to know which bus to take.',
  },
  {
    id: 'goals',
    title: 'What we want',
    text: 'Everybody who comes sees at least one planet with their own eyes. Nobody waits for more than twenty minutes, and nobody waits in the cold. The science runs on: public nights take one dome of three.',
  },
  {
    id: 'timeline',
    title: 'Until October',
    text: 'Mirror alignment ends in the second week of July. The road crew has August, and the first guided night with friends and family is on the last Saturday of that month. September is for what we have not thought of.',
  },
  {
    id: 'risks',
    title: 'What may go wrong',
    text: 'Clouds, above all. We decide at noon, and write to everybody who has a ticket. The second risk is the wind: above fifteen metres a second, the dome stays shut.',
  },
];
