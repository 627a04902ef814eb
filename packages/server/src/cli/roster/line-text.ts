export const lineText = (fields: object) => `${JSON.stringify(fields)}\n`;

/** Left out where it is empty, so that what came from a file goes back as it was. */
export const metadataOf = (metadata: Record<string, unknown>) =>
  Object.keys(metadata).length === 0 ? {} : { metadata };
