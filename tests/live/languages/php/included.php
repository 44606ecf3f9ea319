<?php
// SPDX-License-Identifier: Apache-2.0
return Known\work();
