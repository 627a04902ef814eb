import { once } from '../concurrency/once.ts';
import type { ApiDescription } from '../http/http-services.ts';
import type { AnyOperation } from '../http/operation.ts';

/** Describes the operations. The texts are built when they are first requested, and stored as bytes. */
export function createApiDescription(operations: readonly AnyOperation[]): ApiDescription {
  const document = once(async () => {
    const { buildDocument } = await import('./build-document.ts');
    return Buffer.from(`${JSON.stringify(buildDocument(operations))}\n`);
  });
  const eventDocument = once(async () => {
    const { buildEventDocument } = await import('./build-event-document.ts');
    return Buffer.from(`${JSON.stringify(buildEventDocument(operations))}\n`);
  });
  const page = once(async () => {
    const { buildDocsPage } = await import('./page/docs-page.ts');
    return buildDocsPage(JSON.parse((await document()).toString()));
  });
  return { document, eventDocument, page };
}
