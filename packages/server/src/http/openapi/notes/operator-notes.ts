import type { NotesByOperation } from '../operation-notes.ts';

/** What operators and their machines ask, and this description itself. */
export const OPERATOR_NOTES: NotesByOperation = {
  healthz: { success: 'It is.', answer: { status: 'ok' } },
  readyz: {
    success: 'Requests can be served.',
    answer: { status: 'ok' },
    unavailable: 'A part of the engine does not answer; the message names it.',
  },
  metrics: {
    success: 'Metrics of the requests and of the process.',
    answer:
      '# TYPE rollcall_http_request_duration_seconds histogram\n' +
      'rollcall_http_request_duration_seconds_bucket{method="GET",route="/v1/groups/:id",status="200",le="0.001"} 412\n',
  },
  openapi: {
    success: 'An OpenAPI 3.1 document.',
    answer: { openapi: '3.1.1', info: { title: 'Rollcall', version: '0.1.0' }, paths: {} },
  },
  docs: { success: 'A page of HTML that needs nothing but this server.', answer: '<!doctype html>…' },
};
