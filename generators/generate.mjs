/**
 * Generates a client with each generator, with its defaults: `node generate.mjs <document> <directory> <URL of the server>`.
 * Options are set where a comment says why.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { createClient } from '@hey-api/openapi-ts';
import openapiTypescript, { astToString } from 'openapi-typescript';
import { generate } from 'orval';
import { generateApi } from 'swagger-typescript-api';

const [input, output, url] = process.argv.slice(2);
const directory = (name) => {
  const path = join(resolve(output), name);
  mkdirSync(path, { recursive: true });
  return path;
};

const types = await openapiTypescript(pathToFileURL(resolve(input)));
writeFileSync(join(directory('openapi-typescript'), 'schema.ts'), astToString(types));

await createClient({
  input: resolve(input),
  output: directory('hey-api'),
  plugins: ['@hey-api/client-fetch', '@hey-api/typescript', '@hey-api/sdk'],
  logs: { level: 'silent' },
});

await generate({
  input: resolve(input),
  output: {
    target: join(directory('orval'), 'client.ts'),
    client: 'fetch',
    baseUrl: url,
    // IDs may have slashes and spaces; without it orval writes them into the path as they are.
    urlEncodeParameters: true,
  },
});

await generateApi({
  input: resolve(input),
  output: directory('swagger-typescript-api'),
  fileName: 'client.ts',
  // Its client over fetch writes an object in a query as [object Object]; the one over axios writes its pairs.
  httpClientType: 'axios',
  silent: true,
});
