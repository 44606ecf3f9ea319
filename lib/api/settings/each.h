/* SPDX-License-Identifier: Apache-2.0 */
/* Expands the lines of the table for which the includer defines a macro. It has no
 * guard, because each use includes it. */
#ifndef OP_GROUP
#define OP_GROUP(heading)
#endif
#ifndef OP_KEY
#define OP_KEY(...)
#endif
#ifndef OP_ALIAS
#define OP_ALIAS(...)
#endif
#define OP_NO_KEY(of, field, why)
#include "api/settings/keys.def"
#undef OP_GROUP
#undef OP_KEY
#undef OP_ALIAS
#undef OP_NO_KEY
