/** The rules of presence updates that a schema cannot express. Each check accepts values of any type: the schema checks types. */
import { isJsonObject, limits, locationMatches, ValidationErrors } from '@rollcall/protocol';
import { mergeErrors } from '../validation-error.ts';

/** Checks the fields of an update against each other. `groupID` is undefined where the group is named nowhere. */
export function inspectPresence(
  write: Readonly<Record<string, unknown>>,
  errors: ValidationErrors,
  groupID: unknown = write.groupID,
): void {
  const { location, exclusiveWithin } = write;
  if (groupID === undefined) {
    errors.missing.add('groupID', 'the ID of the group in which the presence applies');
  }
  if (write.absent === true && write.durable === true) {
    errors.invalid.add('absent', 'absent or durable, not both: an absence cannot be durable');
  }
  if (write.durable === true) {
    for (const name of ['connectionID', 'data']) {
      if (Object.hasOwn(write, name))
        errors.invalid.add(name, `no ${name} together with durable: only ephemeral presence has one`);
    }
  }
  if (isJsonObject(location) && isJsonObject(exclusiveWithin) && !matches(location, exclusiveWithin)) {
    errors.invalid.add('location', 'a location that has every pair of exclusiveWithin');
  }
}

const matches = locationMatches as (location: object, pattern: object) => boolean;

/** Checks each update of a list with `inspect`. */
export function inspectPresenceUpdates(
  { updates }: { updates?: unknown },
  errors: ValidationErrors,
  inspect: typeof inspectPresence,
): void {
  // A list that is too long is one error: it may have millions of updates.
  if (!Array.isArray(updates) || updates.length > limits.PRESENCE_UPDATES_MAX) return;
  for (const [index, update] of updates.entries()) {
    if (!isJsonObject(update)) continue;
    const found = new ValidationErrors();
    inspect(update, found);
    if (!found.clean) mergeErrors(errors, found, (path) => `updates[${index}].${path}`);
  }
}
