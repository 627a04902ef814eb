import { Authorization, Authorized } from '@rollcall/protocol';
import { done } from '../../wire/json-answer.ts';
import { presentIssuedToken } from '../../wire/presenters.ts';
import { operationsOf } from '../operation.ts';
import { doneAnswer } from './examples.ts';

const tag = {
  name: 'tokens',
  description: 'Access tokens, which can be revoked.',
};

const ACCESS_TOKEN =
  'eyJhbGciOiJIUzUxMiIsInR5cCI6IkpXVCJ9.eyJzZXNzaW9uX2lkIjoiOXQyayIsImlhdCI6MTc3MjM1NTYwMH0.Zm9yLXNob3ctb25seQ';
const APP_TOKEN =
  'eyJhbGciOiJIUzUxMiIsInR5cCI6IkpXVCJ9.eyJhcHBfaWQiOiJhY21lIiwiaWF0IjoxNzcyMzU1NjAwfQ.Zm9yLXNob3ctb25seQ';

const authorize = operationsOf('none', tag)('POST /v1/authorize', {
  id: 'authorize',
  summary: 'Exchange an app token for an access token',
  description: 'Needs no `Authorization` header: the body is the credential.',
  body: {
    schema: Authorization,
    examples: { appToken: { value: { signed_app_token: APP_TOKEN } } },
  },
  answer: {
    schema: Authorized,
    description: 'An access token, good for 24 hours.',
    example: { access_token: ACCESS_TOKEN, expires: '2026-03-02T09:00:00.000Z' },
  },
  errors: {
    application_not_found: 'The `app_id` of the token does not exist.',
    invalid_app_token: '`signed_app_token` is no app token, or is expired or wrongly signed.',
  },
  unavailable: 'The store cannot be reached.',
  async handle(exchange, { tokens }) {
    const { body, id } = exchange;
    const { accessToken, expires } = await tokens.authorize(body.signed_app_token, id);
    // As on answers to a token in the header: caches do not store the new token.
    exchange.setHeader('cache-control', 'no-store');
    return presentIssuedToken(accessToken, expires);
  },
});

const revoke = operationsOf('project', tag)('DELETE /v1/authorize', {
  id: 'revoke',
  summary: 'Revoke the access token in use',
  description: 'Takes an access token only, the one to revoke.',
  answer: doneAnswer('The token opens nothing any more.', 'revoked the access token'),
  async handle({ writer }, { tokens }) {
    await tokens.revoke(writer);
    return done('revoked the access token');
  },
});

export const tokenOperations = [authorize, revoke];
