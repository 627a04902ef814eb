/** An ID in a path, after the collection that it is of. */
export const PATH_ID = /([^/]+)\/:\w+/g;

/** The ID in a path is named after its collection, so that paths explain themselves; the one in `/v1/:id/preferences` is a user's. */
export const nounOf = (collection: string) => (collection === 'v1' ? 'user' : collection.replace(/s$/, ''));

/** The errors that follow from the IDs of a path: what they name has to be there, unless the operation creates it. */
export function pathErrors(
  path: string,
  {
    conditions,
    creation,
  }: { readonly conditions?: string; readonly creation?: { readonly required: object } },
) {
  const nouns = [...path.matchAll(PATH_ID)].map(([, collection = '']) => nounOf(collection));
  const isPut = conditions === 'put';
  const created = isPut || creation !== undefined ? nouns.at(-1) : undefined;
  const fields = Object.keys(creation?.required ?? {}).map((field) => `\`${field}\``);
  const notFound = nouns.map((noun, index) => [
    `${noun}_not_found`,
    index === 0 ? `The ${noun} does not exist.` : `The ${nouns[index - 1]} has no such ${noun}.`,
  ]);
  return {
    ...(creation && { missing_field: `${fields.join(' or ')} is absent and the ${created} does not exist.` }),
    ...Object.fromEntries(created === undefined ? notFound : notFound.slice(0, -1)),
    ...(isPut && {
      [`${created}_already_exists`]: `The ${created} exists, and the request has \`If-None-Match: *\`.`,
    }),
  };
}
