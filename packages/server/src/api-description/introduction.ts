/** The prose of the description before and beside the operations. */
import { limits } from '@rollcall/protocol';
import { withCommas } from '../values/with-commas.ts';

const hours = limits.TOKEN_MAX_AGE_SECONDS / 3_600;

export const INTRODUCTION = `
Rollcall knows **who belongs** (users, groups, memberships), **how to reach them** (notification preferences) and **who
is where right now** (presence). Your backend, the *host*, calls it and names users and groups by IDs of its own.

## Authentication

Every request has \`Authorization: Bearer <token>\`, where the token is a JWT signed with HMAC (\`HS512\`; \`HS256\`
and \`HS384\` are taken too) and at most ${hours} hours old by its \`iat\`. Its claims determine its kind:

| Kind | Claims | Signed with | Opens |
|---|---|---|---|
| project token | \`project_id\`, \`iat\` | the project's secret | that project's data |
| app token | \`app_id\`, \`iat\` | the project's secret | the same, for older hosts |
| access token | issued by \`POST /v1/authorize\` | the service's own key | the same; can be revoked |
| customer token | \`customer_id\`, \`iat\` | the customer's secret | \`/v1/projects\` |
| client token | \`project_id\`, \`user_id\`, \`iat\`, maybe \`group_id\` | the project's secret | \`/v1/client\`, as that user; for browsers |

On the machine of the server, \`rollcall token\` makes one. The examples below take these:

\`\`\`sh
TOKEN=$(npx rollcall token)
CUSTOMER_TOKEN=$(npx rollcall token --customer)
CLIENT_TOKEN=$(npx rollcall token --user ada)
\`\`\`

## Requests

- Bodies are JSON objects with \`Content-Type: application/json\`. GET and DELETE ignore a body.
- Every path that takes GET takes HEAD as well.
- IDs in a path are percent-encoded, so any ID is possible: \`team/ops\` is \`team%2Fops\`.
- Texts are Unicode without NUL; lengths count code points. Numbers in \`metadata\` must be such that JSON readers can keep
  them.
- A field or a query parameter that an operation does not take is an error, never ignored.
- A write is on disk before its answer leaves. Requests that change the same thing at once take effect one after the other.

## Errors

A failure has the body \`{"error": …, "message": …}\`. The codes are for programs and do not change; a message names the
fields or IDs in question. What is checked first answers first: the token, the body's syntax, unknown fields, missing
fields, values, what is referenced, conflicts. Beyond what each operation lists, \`invalid_request\` also comes with 404
(no such path), 405 (a method that the path does not take; \`Allow\` names those it takes), and 408 or 431 where the request
itself cannot be read.

A 401 with \`WWW-Authenticate: Bearer\` is about the token: another one may help. A 401 without it is about something that
the request names and that does not exist.

## Paging

Long lists come in pages, in a fixed order: \`limit\` (${withCommas(limits.PAGE_DEFAULT_LIMIT)}, at most
${withCommas(limits.PAGE_MAX_LIMIT)}) and the \`token\` of the page before. Entries that come and go in between never make
another one appear twice or vanish.

## Concurrency

The answer of most readings of one resource has an \`ETag\`. Send it back in \`If-Match\` with a write, and the write is
answered 412 when another write was faster. With \`If-None-Match\` such a reading is 304 when nothing has changed, and a
\`PUT\` with \`If-None-Match: *\` only creates.

## Streams and the socket

Readings of presence, threads, messages and changes go on as streams of server-sent events with
\`Accept: text/event-stream\`. A page can have all of them, and its own presence, over one WebSocket:
\`GET /v1/client/socket\`. [\`/asyncapi.json\`](/asyncapi.json) describes every event and every frame.

## Request IDs, rate limits

Every answer has \`x-request-id\`: the one that you sent, or a new one. The server's log has the same. Where the operator
has set a limit of requests per second, answers have \`RateLimit-Limit\`, \`RateLimit-Remaining\` and \`RateLimit-Reset\`.
`.trim();

const bearer = (description: string) => ({
  type: 'http',
  scheme: 'bearer',
  bearerFormat: 'JWT',
  description,
});

export const SECURITY_SCHEMES = {
  projectToken: bearer(
    "A project token or an app token (claims `project_id` or `app_id`, and `iat`; signed with the project's secret), or an access token from `POST /v1/authorize`.",
  ),
  clientToken: bearer(
    "A client token: claims `project_id` (or `app_id`), `user_id`, `iat`, and where the user is to act in one group only `group_id`; signed with the project's secret.",
  ),
  customerToken: bearer(
    "A customer token: claims `customer_id` and `iat`, signed with the customer's secret.",
  ),
};
